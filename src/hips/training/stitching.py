"""Distances that stitch wandering demonstrations together, without an expert.

The remaining steps of a wandering demonstrator are a poor estimate of the distance to a goal, and
no demonstration shows a dead end. Both follow from the demonstrations and a model of the dynamics:
one step from each demonstrated state may lead to another one, which closes a shortcut, or to a
state that no demonstrator entered. From there the model searches on for a way back. States that
find one get its length; those that find none within `depth` steps count as dead ends. Where moves
can be undone, every state beside a demonstration has a way back; `spread` tells how far the model
looks there all the same, so that a heuristic learns what it costs to leave the demonstrated way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np

from hips.arrays import Actions, Bools, Grids, Ints
from hips.data.dataset import Trajectories
from hips.data.labels import DEAD_END, StateLabels, join
from hips.domains.base import Domain
from hips.planner.packing import first_occurrences, pack
from hips.training.loops import distances_to_goals

Step: TypeAlias = Callable[[Grids, Actions], Grids]
"""The next states `[B, H, W]` of states and actions `[B]`."""
IsGoal: TypeAlias = Callable[[Grids], Bools]
IsLegal: TypeAlias = Callable[[Grids, Grids], Bools]
"""Which grids `[B, H, W]` could belong to the same problem as their origins `[B, H, W]`."""
TRAJECTORIES_AT_ONCE = 32
LABELLED_LEVELS = 3
"""States are labelled up to this many steps from a demonstrated one, or up to the spread if that is
more. Ways back from farther states are roundabout, and whether they are dead ends is less sure."""


@dataclass(frozen=True, slots=True)
class Surveyor:
    """What the search needs to know of a domain.

    Attributes:
        step: a model of the dynamics.
        is_goal: which states `[B]` are goals.
        is_legal: which grids a step may lead to. Demonstrators avoid moves that are impossible, so
            a model of their steps does not know them and predicts grids that break the rules;
            such a step counts as one that leads nowhere.
        num_actions: of the domain.
    """

    step: Step
    is_goal: IsGoal
    is_legal: IsLegal
    num_actions: int

    @classmethod
    def of(cls, domain: Domain, step: Step) -> Surveyor:
        """What it needs of a domain, with a model of the dynamics or the domain's own step."""
        return cls(step, domain.is_goal, domain.is_legal, domain.spec.num_actions)

    def successors(self, states: Grids) -> Grids:
        """The next states of all actions, `[A · B, H, W]`, the first action's first."""
        actions = np.arange(self.num_actions)
        return np.concatenate([self.after(states, np.full(len(states), a)) for a in actions])

    def after(self, states: Grids, actions: Actions) -> Grids:
        """The next states `[B, H, W]`; those of impossible moves are the states themselves."""
        predicted = self.step(states, actions)
        legal = self.is_legal(predicted, states)
        return np.where(legal[:, None, None], predicted, states)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far the search around demonstrated states goes, and what it tells.

    Attributes:
        depth: steps at most, in search of a way back.
        spread: how many steps away it looks even where there is a way back, at least 1.
        dead_ends: whether states that find no way back are labelled as dead ends.
    """

    depth: int
    spread: int = 1
    dead_ends: bool = True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Distinct states around demonstrated ones, with the steps between them.

    Attributes:
        states: `[N, H, W]`, demonstrated ones first.
        levels: `[N]`, steps from a demonstrated state.
        sources: `[E]`, where each edge starts.
        targets: `[E]`, where it ends.
        distances: `[N]`, steps to a goal along the edges; -1 where there is no way.
    """

    states: Grids
    levels: Ints
    sources: Ints
    targets: Ints
    distances: Ints


def explore_surroundings(demonstrated: Grids, surveyor: Surveyor, extent: Extent) -> Surroundings:
    """Searches around demonstrated states `[M, H, W]` for ways back.

    Beyond the spread only states below one that has found no way yet are expanded, so the search
    stays narrow where steps can be undone.
    """
    states = demonstrated[distinct(demonstrated)[0]]
    levels = np.zeros(len(states), dtype=np.int64)
    sources = targets = np.empty(0, dtype=np.int64)
    distances = np.full(len(states), -1, dtype=np.int64)
    expanded = np.arange(len(states))
    for level in range(1, extent.depth + 2):
        following = surveyor.successors(states[expanded])
        kept, names = distinct(np.concatenate([states, following]))
        sources = np.concatenate([sources, np.tile(expanded, surveyor.num_actions)])
        targets = np.concatenate([targets, names[len(states) :]])
        fresh = kept[kept >= len(states)] - len(states)
        states = np.concatenate([states, following[fresh]])
        levels = np.concatenate([levels, np.full(len(fresh), level)])
        distances = distances_to_goals(sources, targets, surveyor.is_goal(states))
        stranded = np.zeros(len(states), dtype=np.bool_)
        stranded[targets[distances[sources] < 0]] = True
        # The first level has only demonstrated predecessors, which all have a way.
        lost = (distances < 0) & (stranded | (level == 1))
        open_states = (levels == level) & (lost | (level < extent.spread))
        expanded = np.flatnonzero(open_states)
        if not len(expanded):
            break
    return Surroundings(states, levels, sources, targets, distances)


def label_surroundings(found: Surroundings, extent: Extent) -> StateLabels:
    """Labels of the states near demonstrated ones: their distances, or that they are dead ends."""
    lost = found.distances < 0
    dead = _dead_ends(found, lost) if extent.dead_ends else np.zeros_like(lost)
    kept = (~lost | dead) & (found.levels <= max(LABELLED_LEVELS, extent.spread))
    remaining = np.where(dead, DEAD_END, found.distances)[kept].astype(np.int32)
    return StateLabels(found.states[kept], remaining, {})


def _dead_ends(found: Surroundings, lost: Bools) -> Bools:
    """Which lost states are beside a demonstrated one, or a few steps below such a state."""
    dead = lost & (found.levels == 1)
    for level in range(2, LABELLED_LEVELS + 1):
        entered = found.targets[dead[found.sources]]
        below = np.zeros(len(dead), dtype=np.bool_)
        below[entered] = True
        dead |= below & lost & (found.levels == level)
    return dead


def stitch(data: Trajectories, surveyor: Surveyor, extent: Extent) -> StateLabels:
    """Labels of the states in and around trajectories; see the module's docstring."""
    parts = []
    for first, stop in trajectory_chunks(len(data)):
        states = data.states[data.offsets[first] : data.offsets[stop]]
        found = explore_surroundings(states, surveyor, extent)
        parts.append(label_surroundings(found, extent))
    labels = join(parts, {})
    counts = {"states": len(labels), "dead_ends": int((labels.remaining == DEAD_END).sum())}
    origin = {"stitched": {"trajectories": len(data), "extent": asdict(extent), **counts}}
    return StateLabels(labels.states, labels.remaining, origin)


def shorten(data: Trajectories, surveyor: Surveyor) -> Ints:
    """Steps to a goal from every demonstrated state, `[M]`, with the wanderers' loops cut out.

    The way leads through the demonstrated states alone, one step of the model from each to the
    next, so it is never longer than the demonstration.
    """
    parts = [
        _shortened(data.states[data.offsets[first] : data.offsets[stop]], surveyor)
        for first, stop in trajectory_chunks(len(data))
    ]
    found = np.concatenate(parts)
    # A model that mispredicts a demonstrated step may miss the way.
    return np.where(found < 0, data.remaining, np.minimum(found, data.remaining))


def _shortened(states: Grids, surveyor: Surveyor) -> Ints:
    found = explore_surroundings(states, surveyor, Extent(0))
    distances: Ints = found.distances[distinct(states)[1]]
    return distances


def trajectory_chunks(count: int) -> Iterator[tuple[int, int]]:
    """Where each set of trajectories starts and ends: those to search at once."""
    for first in range(0, count, TRAJECTORIES_AT_ONCE):
        yield first, min(first + TRAJECTORIES_AT_ONCE, count)


def distinct(states: Grids) -> tuple[Ints, Ints]:
    """Indices of the first of equal states, ascending, and each state's number among these."""
    first = first_occurrences(np.zeros(len(states), dtype=np.int64), pack(states))
    kept = np.flatnonzero(first == np.arange(len(first)))
    return kept, np.searchsorted(kept, first)
