"""A model's scores on held-out demonstrations, with the graphs used for solving."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hips.arrays import Actions, Grid, Grids, Ints
from hips.data.dataset import Trajectories, encode_actions, replay_plans, to_offsets
from hips.domains.base import Domain
from hips.errors import ExpertError, ModelError
from hips.models.bundle import Bundle
from hips.models.card import Card
from hips.models.runtime import GraphRuntime
from hips.seeding import stream
from hips.training.config import SegmentationConfig, build
from hips.training.contract import Part
from hips.training.segmenters import EventSegmenter, SegmentationTask, find_segmenter
from hips.training.segments import follow_chain

AT_ONCE = 256
DEFAULT_DEMONSTRATIONS = 200
FEW_DEMONSTRATIONS = 50
"""Enough where a segmentation is costly."""
DEFAULT_SEED = 1_000_003
TRIES_PER_PLAN = 50
"""Levels per plan after which the expert counts as none."""
SHARED = "segments"
"""Card entry for statistics of the demonstrations themselves."""


@dataclass(frozen=True, slots=True)
class Exam:
    """The data that parts are scored on.

    Attributes:
        domain: the domain.
        card: of the model.
        runtime: its graphs, in fp32.
        data: held-out demonstrations.
        starts: `[S]`, first states of the segments.
        ends: `[M]`, the end of each state's segment.
        horizon: H of the model's training.
        seed: of the demonstrations.
    """

    domain: Domain
    card: Card
    runtime: GraphRuntime
    data: Trajectories
    starts: Ints
    ends: Ints
    horizon: int
    seed: int

    def segments(self) -> Iterator[tuple[Grids, Grids]]:
        """First states of segments and their subgoals, both `[B, H, W]`, in batches."""
        for rows in chunks(len(self.starts)):
            at = self.starts[rows]
            yield self.data.states[at], self.data.states[self.ends[at]]

    def batched(self, function: Callable[[Grids], npt.NDArray[Any]], states: Grids) -> Any:
        """Applies `function` to many states in batches."""
        return np.concatenate([function(states[rows]) for rows in chunks(len(states))])


def chunks(total: int, size: int = AT_ONCE) -> Iterator[slice]:
    """Slices of at most `size` rows."""
    return (slice(first, first + size) for first in range(0, total, size))


def held_out(domain: Domain, count: int, seed: int, quality: float) -> Trajectories:
    """Demonstrations of new levels, from a random stream that training never uses.

    Raises:
        ExpertError: the expert fails on nearly every level.
    """
    starts: list[Grid] = []
    plans: list[Actions] = []
    index = 0
    while len(starts) < count:
        if index >= TRIES_PER_PLAN * (len(starts) + 1):
            raise ExpertError(
                f"the expert of '{domain.name}' failed on {index - len(starts)} of {index} levels"
            )
        rng = stream(seed, "validation", domain.name, index)
        state = domain.sample(rng, 1)[0]
        index += 1
        try:
            plans.append(domain.expert(state, rng, quality))
        except ExpertError:
            continue
        starts.append(state)
    offsets = to_offsets(np.array([len(plan) for plan in plans]))
    actions = encode_actions(np.concatenate(plans), domain.spec.num_actions)
    return replay_plans(domain, np.stack(starts), actions, offsets)


def prepare(
    bundle: Bundle,
    parts: Mapping[str, Part],
    count: int,
    seed: int,
    given: Trajectories | None = None,
) -> Exam:
    """Held-out demonstrations, `given` or the expert's, segmented as in the model's training."""
    card, domain = bundle.card, bundle.domain
    runtime = bundle.runtime("fp32")
    try:
        quality = float(card.configuration["quality"])
        config: SegmentationConfig = build(SegmentationConfig, card.configuration["segmentation"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{bundle.folder}: the card lacks the quality or segmentation of its demonstrations "
            f"({error!r}), which scoring needs."
        ) from None
    data = held_out(domain, count, seed, quality) if given is None else given
    segmenter = find_segmenter(config.method, parts.values())
    if not {stage.split(".")[0] for stage in segmenter.stages} <= set(card.parts):
        segmenter = EventSegmenter()  # no part of this model needed subgoals
    task = SegmentationTask(domain, data, card.horizon, config, runtime)
    ends, is_start = follow_chain(segmenter.following(task), data.offsets)
    starts = np.flatnonzero(is_start)
    return Exam(domain, card, runtime, data, starts, ends, card.horizon, seed)


def score(
    bundle: Bundle,
    parts: Mapping[str, Part],
    count: int = DEFAULT_DEMONSTRATIONS,
    seed: int = DEFAULT_SEED,
    given: Trajectories | None = None,
) -> dict[str, dict[str, float]]:
    """Scores every part of a model on held-out demonstrations: `given` ones, or `count` new ones.

    Raises:
        ExpertError: none are given, and the expert fails on nearly every level.
    """
    held = {name: parts[name] for name in bundle.card.parts if name in parts}
    exam = prepare(bundle, parts, count, seed, given)
    length = float((exam.ends - np.arange(len(exam.ends)))[exam.starts].mean())
    scores: dict[str, dict[str, float]] = {SHARED: {"length": length}}
    for name, part in held.items():
        scores[name] = part.score(exam)
    return scores


def with_scores(
    card: Card, scores: Mapping[str, Mapping[str, float]], count: int, seed: int
) -> Card:
    """The card with its scores replaced."""
    entries = {
        name: replace(entry, scores=dict(scores.get(name, {})))
        for name, entry in card.parts.items()
    }
    exam = {"demonstrations": count, "seed": seed, **scores.get(SHARED, {})}
    return replace(card, parts=entries, facts={**card.facts, "exam": exam})
