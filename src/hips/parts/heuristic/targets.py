"""What the heuristic learns: states with their steps to a goal, from several sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hips.arrays import Ints
from hips.data.dataset import Trajectories
from hips.data.labels import DEAD_END, StateLabels, join, load, save
from hips.parts.dynamics.adapter import LearnedDynamics
from hips.parts.familiarity.adapter import LearnedFamiliarity
from hips.parts.heuristic.config import HeuristicConfig
from hips.seeding import stream
from hips.training.corpus import Corpus, some_trajectories
from hips.training.excursions import label_excursions
from hips.training.loops import shortest_ways
from hips.training.stitching import Extent, Surveyor, shorten, stitch
from hips.training.strays import stray_ends
from hips.training.workshop import Workshop

KNOWN = 10_000
"""Demonstrated states that tell what is familiar."""


@dataclass(frozen=True, slots=True)
class Targets:
    """States and their steps to a goal.

    Attributes:
        train: of the demonstrations.
        valid: of held-out demonstrations.
        labels: of other states, dead ends among them, or None.
    """

    train: StateLabels
    valid: StateLabels
    labels: StateLabels | None = None


def find_targets(workshop: Workshop) -> Targets:
    """The targets of a run; what takes long to find is cached in its folder."""
    config = _config(workshop)
    found = [] if workshop.labels is None else [workshop.labels]
    if config.stitched:
        found.insert(0, cached(workshop, "stitched", lambda: _stitched(workshop)))
    if config.walks:
        found.insert(0, cached(workshop, "walked", lambda: _walked(workshop)))
    if config.strays:
        found.insert(0, cached(workshop, "strays", lambda: _strays(workshop)))
    found = [one for one in found if len(one)]
    labels = found[0] if found else None
    if len(found) > 1:
        labels = join(found, {"parts": [one.origin for one in found]})
    train, valid = workshop.visited
    return Targets(
        _demonstrated(workshop, "train", train), _demonstrated(workshop, "valid", valid), labels
    )


def _demonstrated(workshop: Workshop, split: str, corpus: Corpus) -> StateLabels:
    """The states of demonstrations with their remaining steps, by shortcuts if wanted."""
    if not _config(workshop).shortcuts:
        if workshop.config.cut_loops:
            return _labelled(corpus, shortest_ways(corpus.trajectories).remaining)
        return _labelled(corpus, corpus.remaining)

    def make() -> StateLabels:
        workshop.message(f"cutting loops out of the demonstrations ({split} split)")
        return _labelled(corpus, shorten(corpus.trajectories, _surveyor(workshop)))

    return cached(workshop, f"shortcuts-{split}", make)


def _stitched(workshop: Workshop) -> StateLabels:
    """Labels from the surroundings of some demonstrations."""
    config, part = _config(workshop), _stitchable(workshop)
    workshop.message(f"searching the surroundings of {len(part)} demonstrations")
    extent = Extent(config.stitching_depth, config.stitching_spread, config.stitching_dead_ends)
    return stitch(part, _surveyor(workshop), extent)


def _walked(workshop: Workshop) -> StateLabels:
    """Labels from random walks that leave the same demonstrations."""
    config, part = _config(workshop), _stitchable(workshop)
    workshop.message(f"walking at random from {len(part)} demonstrations")
    rng = stream(workshop.config.seed, "walked")
    return label_excursions(part, _surveyor(workshop), rng, config.walks, config.walk_steps)


def _stitchable(workshop: Workshop) -> Trajectories:
    """The demonstrations whose surroundings are searched."""
    rng = stream(workshop.config.seed, "stitched")
    return some_trajectories(workshop.visited[0], _config(workshop).stitched, rng).trajectories


def _strays(workshop: Workshop) -> StateLabels:
    """Ends of random walks that look like no demonstrated state, as dead ends."""
    config = _config(workshop)
    workshop.message(f"walking at random from {config.strays:,} demonstrated states")
    train, valid = (corpus.states for corpus in workshop.visited)
    rng = stream(workshop.config.seed, "strays")
    ends = stray_ends(_surveyor(workshop), train, rng, config.strays, config.longest_walk)
    known = valid[rng.permutation(len(valid))[:KNOWN]]
    familiarity = LearnedFamiliarity(workshop.runtime("familiarity"))
    dead = ends[familiarity.unfamiliar(ends, known)]
    return StateLabels(dead, np.full(len(dead), DEAD_END, dtype=np.int32), {"strays": len(ends)})


def cached(workshop: Workshop, name: str, make: Callable[[], StateLabels]) -> StateLabels:
    """Labels from the run folder; the first process makes them if they are missing."""
    path = workshop.folder / f"{name}.npz"
    if workshop.group.rank == 0 and not path.exists():
        made = make()
        save(replace(made, origin={"domain": workshop.domain.name, **made.origin}), path)
    workshop.group.barrier()
    return load(path, workshop.domain, allow_empty=True)


def _surveyor(workshop: Workshop) -> Surveyor:
    step = workshop.domain.step
    if _config(workshop).needs_dynamics:
        step = LearnedDynamics(workshop.runtime("dynamics")).step
    return Surveyor.of(workshop.domain, step)


def _labelled(corpus: Corpus, remaining: Ints) -> StateLabels:
    return StateLabels(corpus.states, remaining.astype(np.int32), {})


def _config(workshop: Workshop) -> HeuristicConfig:
    config: HeuristicConfig = workshop.config.parts["heuristic"]
    return config
