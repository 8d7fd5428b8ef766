"""Loops in demonstrations: what a wandering demonstrator did between two visits of a state.

The steps taken in a demonstration form a graph of its states. The shortest way through that graph
reaches the same goal without the loops; it needs no model of the dynamics, only equal states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from hips.arrays import Bools, Ints
from hips.data.dataset import NO_ACTION, Trajectories
from hips.planner.packing import first_occurrences, pack


@dataclass(frozen=True, slots=True)
class Ways:
    """The shortest ways through demonstrations along the steps that were taken in them.

    Attributes:
        remaining: `[S]`, steps from each state to the end of its trajectory.
        exits: `[S]`, position of an equal state from which the next step was a step of the way.
    """

    remaining: Ints
    exits: Ints


def shortest_ways(data: Trajectories) -> Ways:
    """The shortest ways from every state; the earliest step counts where several are as good."""
    same = first_occurrences(data.owners, pack(data.states))
    taken = np.flatnonzero(data.actions != NO_ACTION)
    ends = np.zeros(len(same), dtype=np.bool_)
    ends[same[data.offsets[1:] - 1]] = True
    distances = distances_to_goals(same[taken], same[taken + 1], ends)
    nearer = taken[distances[same[taken + 1]] < distances[same[taken]]]
    exits = np.arange(len(same))
    exits[same[nearer[::-1]]] = nearer[::-1]
    return Ways(distances[same], exits[same])


def without_loops(data: Trajectories) -> Trajectories:
    """The shortest way of every demonstration from its first state to its end."""
    ways = shortest_ways(data)
    lengths = ways.remaining[data.offsets[:-1]] + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    kept = _follow(ways.exits, data.offsets, offsets)
    return Trajectories(data.states[kept], data.actions[kept], offsets)


@njit(cache=True)
def _follow(exits: Ints, offsets: Ints, shorter: Ints) -> Ints:
    """Positions of the states on the ways, given where the ways start."""
    kept = np.empty(shorter[-1], dtype=np.int64)
    for n in range(len(offsets) - 1):
        position = exits[offsets[n]]
        for place in range(shorter[n], shorter[n + 1] - 1):
            kept[place] = position
            position = exits[position + 1]
        kept[shorter[n + 1] - 1] = offsets[n + 1] - 1
    return kept


@njit(cache=True)
def distances_to_goals(sources: Ints, targets: Ints, goals: Bools) -> Ints:
    """Steps from each node to the nearest goal along the edges, `[N]`; -1 where there is no way."""
    count = len(goals)
    starts = np.zeros(count + 1, dtype=np.int64)
    for target in targets:
        starts[target + 1] += 1
    starts = np.cumsum(starts)
    filled = starts[:-1].copy()
    predecessors = np.empty(len(sources), dtype=np.int64)
    for edge in range(len(sources)):
        predecessors[filled[targets[edge]]] = sources[edge]
        filled[targets[edge]] += 1
    distances = np.full(count, -1, dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)
    tail = 0
    for node in range(count):
        if goals[node]:
            distances[node] = 0
            queue[tail] = node
            tail += 1
    head = 0
    while head < tail:
        node = queue[head]
        head += 1
        for edge in range(starts[node], starts[node + 1]):
            before = predecessors[edge]
            if distances[before] < 0:
                distances[before] = distances[node] + 1
                queue[tail] = before
                tail += 1
    return distances
