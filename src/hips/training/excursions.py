"""States beside demonstrations: random walks that leave them, with the shortest known way back."""

from __future__ import annotations

import numpy as np

from hips.arrays import Grids, Ints
from hips.data.dataset import Trajectories
from hips.data.labels import StateLabels, join
from hips.training.stitching import (
    Extent,
    Surveyor,
    distinct,
    explore_surroundings,
    trajectory_chunks,
)


def label_excursions(
    data: Trajectories, surveyor: Surveyor, rng: np.random.Generator, count: int, steps: int
) -> StateLabels:
    """Labels of the states on random walks: the shortest known way to a goal.

    A walk goes much farther than a search around every state could. Of the `count` walks that
    leave a trajectory, half start within its last `steps`, where a heuristic that mistakes a state
    for nearly solved does most harm. States without a known way back get no label.
    """
    parts = []
    for first, stop in trajectory_chunks(len(data)):
        offsets = data.offsets[first : stop + 1]
        states = data.states[offsets[0] : offsets[-1]]
        starts = _starts(offsets - offsets[0], rng, count, steps)
        walked = random_walks(surveyor, states[starts], rng, steps)
        found = explore_surroundings(np.concatenate([states, walked]), surveyor, Extent(0))
        fresh = np.arange(len(found.states)) >= len(distinct(states)[0])
        kept = fresh & (found.levels == 0) & (found.distances >= 0)
        parts.append(StateLabels(found.states[kept], found.distances[kept].astype(np.int32), {}))
    labels = join(parts, {})
    return StateLabels(labels.states, labels.remaining, {"walks": count, "steps": steps})


def _starts(offsets: Ints, rng: np.random.Generator, count: int, steps: int) -> Ints:
    """Where `count` walks start in each trajectory, half of them near its end."""
    lengths = np.diff(offsets)[:, None]
    late = np.arange(count) % 2 == 0
    within = np.where(late, np.minimum(steps, lengths), lengths)
    back = (rng.random(within.shape) * within).astype(np.int64)
    starts: Ints = (offsets[1:, None] - 1 - back).ravel()
    return starts


def random_walks(surveyor: Surveyor, starts: Grids, rng: np.random.Generator, steps: int) -> Grids:
    """All states of random walks that do not turn back, `[B · steps, H, W]`."""
    before, states, found = starts, starts, []
    for _ in range(steps):
        options = surveyor.successors(states).reshape(-1, *states.shape)
        moves = (options != states).any(axis=(2, 3)) & (options != before).any(axis=(2, 3))
        chosen = np.where(moves, rng.random(moves.shape), -1.0).argmax(axis=0)
        before, states = states, options[chosen, np.arange(len(states))]
        found.append(states)
    return np.concatenate(found)
