"""A model's scores on held-out demonstrations, with the graphs that solving uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hips.demonstrations.dataset import Trajectories, encode_actions, replay_plans, to_offsets
from hips.domains import Actions, Domain, Grid
from hips.errors import ExpertError
from hips.models.bundle import Bundle
from hips.models.segments import (
    best_segmentation,
    event_following,
    follow_chain,
    later_states,
    likeliest_following,
)
from hips.planner import rollouts
from hips.planner.learned import LearnedReach
from hips.seeding import stream
from hips.statistics import perplexity, spearman

Indices = npt.NDArray[np.int64]
PART = 256
TRANSITIONS = 100_000
DEFAULT_DEMONSTRATIONS = 200
DEFAULT_SEED = 1_000_003


@dataclass(frozen=True, slots=True)
class Scores:
    """What a card says of a model's networks; all shares are from 0 to 1.

    Attributes:
        policy_reach: demonstrated subgoals that the policy reaches within H steps.
        coverage: true next subgoals that are, exactly, among the K decoded ones.
        usable: distinct decoded subgoals that are legal and reached by the policy.
        codes_in_use: perplexity of the codes of demonstrated subgoals, divided by K.
        action_accuracy: π_BC's likeliest action is the demonstrator's.
        heuristic_error: mean absolute error of h in steps.
        heuristic_spearman: rank correlation of h with the true remaining steps.
        dynamics_exact: transitions of random walks that the dynamics predicts exactly.
        segment_length: mean low-level steps of a demonstrated segment.
        demonstrations: how many held-out demonstrations this is measured on.
        seed: of those demonstrations.
    """

    policy_reach: float
    coverage: float
    usable: float
    codes_in_use: float
    action_accuracy: float
    heuristic_error: float
    heuristic_spearman: float
    dynamics_exact: float
    segment_length: float
    demonstrations: int
    seed: int

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Scores:
        """Scores from a card."""
        return cls(**content)


def held_out(domain: Domain, count: int, seed: int, quality: float) -> Trajectories:
    """Demonstrations of fresh levels, from a stream that training never draws from."""
    starts: list[Grid] = []
    plans: list[Actions] = []
    index = 0
    while len(starts) < count:
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


def score(bundle: Bundle, count: int = DEFAULT_DEMONSTRATIONS, seed: int = DEFAULT_SEED) -> Scores:
    """Measures a model on `count` fresh demonstrations."""
    domain, runtime = bundle.domain, bundle.runtime
    quality = float(bundle.card["configuration"]["quality"])
    data = held_out(domain, count, seed, quality)
    following = _segment(bundle, data)
    ends, is_start = follow_chain(following, data.offsets)
    starts = np.flatnonzero(is_start)
    acting = np.flatnonzero(data.actions >= 0)
    distances = _batched(runtime.heuristic, data.states)
    true = data.remaining.astype(np.float64)
    likeliest = _batched(lambda part: runtime.prior(part)[1].argmax(axis=1), data.states[acting])
    coverage, usable = _subgoal_scores(bundle, data, starts, ends)
    return Scores(
        policy_reach=_reach_share(bundle, data, starts, ends),
        coverage=coverage,
        usable=usable,
        codes_in_use=_perplexity(bundle, data, starts, ends) / bundle.num_codes,
        action_accuracy=float((likeliest == data.actions[acting]).mean()),
        heuristic_error=float(np.abs(distances - true).mean()),
        heuristic_spearman=spearman(distances, true),
        dynamics_exact=_dynamics_share(bundle, data, seed),
        segment_length=float((ends - np.arange(len(ends)))[starts].mean()),
        demonstrations=count,
        seed=seed,
    )


def _segment(bundle: Bundle, data: Trajectories) -> Indices:
    """The next subgoal of every state, by the segmentation the model was trained on."""
    settings = bundle.card["configuration"]
    runtime = bundle.runtime
    if settings["segmentation"] == "events":
        horizon, ahead = bundle.horizon, settings["events"]
        return event_following(bundle.domain, data.states, data.offsets, horizon, ahead)
    if settings["segmentation"] == "detector":
        queries = _batched(lambda part: runtime.detector(part)[0], data.states)
        keys = _batched(lambda part: runtime.detector(part)[1], data.states)
        bias = runtime.detector(data.states[:1])[2]
        return likeliest_following(queries, keys, bias, data.offsets)
    positions, exists = later_states(data.offsets, bundle.horizon)
    rows, columns = np.nonzero(exists)
    log_pi = np.full(exists.shape, -np.inf)
    for part in _parts(len(rows)):
        at, to = rows[part], positions[rows[part], columns[part]]
        chosen = runtime.policy(data.states[at], data.states[to])[0][:, 0]
        log_pi[at, columns[part]] = np.take_along_axis(chosen, data.actions[at][:, None], axis=1)[
            :, 0
        ]
    return best_segmentation(log_pi, data.offsets, settings["detector"]["segment_penalty"])[0]


def _reach_share(bundle: Bundle, data: Trajectories, starts: Indices, ends: Indices) -> float:
    domain, policy = bundle.domain, LearnedReach(bundle.runtime)
    reached = 0
    for part in _parts(len(starts)):
        at = starts[part]
        ended = rollouts.follow(
            domain.step,
            domain.is_goal,
            policy,
            data.states[at],
            data.states[ends[at]],
            bundle.horizon,
        )
        reached += int(ended.success.sum())
    return reached / len(starts)


def _subgoal_scores(
    bundle: Bundle, data: Trajectories, starts: Indices, ends: Indices
) -> tuple[float, float]:
    """Share of true subgoals among the decoded ones; share of distinct decoded ones of use."""
    domain, codes = bundle.domain, np.arange(bundle.num_codes)
    policy = LearnedReach(bundle.runtime)
    covered = proposed = useful = 0
    for at in starts:
        state = data.states[at : at + 1]
        scores = bundle.runtime.decode(state, np.zeros_like(codes), codes)
        origins = np.repeat(state, len(codes), axis=0)
        targets = np.unique(domain.decode(scores, origins), axis=0)
        covered += bool((targets == data.states[ends[at]]).all(axis=(1, 2)).any())
        targets = targets[(targets != state).any(axis=(1, 2))]
        proposed += len(targets)
        targets = targets[domain.is_legal(targets, np.repeat(state, len(targets), axis=0))]
        if len(targets):
            begin = np.repeat(state, len(targets), axis=0)
            ended = rollouts.follow(
                domain.step, domain.is_goal, policy, begin, targets, bundle.horizon
            )
            useful += int(ended.success.sum())
    return covered / len(starts), useful / max(1, proposed)


def _perplexity(bundle: Bundle, data: Trajectories, starts: Indices, ends: Indices) -> float:
    """How many codes the demonstrated subgoals use."""
    codes = [
        bundle.runtime.encode(data.states[starts[part]], data.states[ends[starts[part]]])
        for part in _parts(len(starts))
    ]
    return perplexity(np.bincount(np.concatenate(codes)))


def _dynamics_share(bundle: Bundle, data: Trajectories, seed: int) -> float:
    """Exact predictions of random actions along random walks from demonstrated states."""
    domain = bundle.domain
    rng = stream(seed, "transitions", domain.name)
    right = done = 0
    states = data.states[rng.choice(len(data.states), size=PART)]
    while done < TRANSITIONS:
        actions = rng.integers(domain.spec.num_actions, size=PART)
        following = domain.step(states, actions)
        predicted = bundle.runtime.dynamics(states, actions)
        right += int((predicted == following).all(axis=(1, 2)).sum())
        done += PART
        fresh = rng.random(PART) < 0.2
        following[fresh] = data.states[rng.choice(len(data.states), size=int(fresh.sum()))]
        states = following
    return right / done


def _parts(total: int) -> Iterator[slice]:
    return (slice(first, first + PART) for first in range(0, total, PART))


def _batched(
    function: Callable[[npt.NDArray[np.uint8]], npt.NDArray[Any]], states: npt.NDArray[np.uint8]
) -> npt.NDArray[Any]:
    return np.concatenate([function(states[part]) for part in _parts(len(states))])
