"""The front of the queues: nodes that are ready to be expanded.

A node at the front may be known only in part: its h is a guess, or its rollout is pending. What is
missing is found out, the node goes back to the queue with its true key, and the next is popped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Ints
from hips.planner.estimates import Estimates
from hips.planner.heaps import NONE
from hips.planner.keys import Keys
from hips.planner.nodes import NodeTable
from hips.planner.pending import PendingNodes
from hips.planner.stopwatch import Stopwatch

MOST_ROLLOUTS = 64
"""Most pending nodes of a search that are rolled out together, after which its round ends: limits
on time are checked between rounds."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What the front of the queues gave.

    Attributes:
        nodes: `[B]`, popped nodes to expand, by slot, the best first.
        goals: `[G]`, goals that pending rollouts passed or reached.
    """

    nodes: Ints
    goals: Ints


class Frontier:
    """Pops the best nodes of searches in lockstep."""

    def __init__(
        self, table: NodeTable, keys: Keys, estimates: Estimates, pending: PendingNodes
    ) -> None:
        self.table, self.keys = table, keys
        self.estimates, self.pending = estimates, pending

    def take(self, slots: Ints, wanted: Ints, watch: Stopwatch) -> Taken:
        """Pops up to `wanted` `[S]` nodes of each of `slots` `[S]`.

        When a pending node fails, twice as many are rolled out next: subgoals that cannot be
        reached often come in a row.
        """
        wanted, rollouts = wanted.copy(), np.ones(len(slots), dtype=np.int64)
        taken: list[Ints] = []
        goals: list[Ints] = []
        while (wanted > 0).any():
            rows, ranks = _places(wanted, rollouts)
            popped = self.table.pop(slots[rows])
            found = popped != NONE
            if not found.any():
                break
            rows, popped, ahead = rows[found], popped[found], (ranks < wanted[rows])[found]
            pending, guessed = self.pending.among(popped), self.estimates.is_guessed(popped)
            watch.lap("bookkeeping")
            ready = ahead & ~pending & ~guessed
            taken.append(popped[ready])
            self._put_back(popped[~ahead & ~pending])
            self._estimate(popped[ahead & guessed & ~pending], watch)
            wanted -= np.bincount(rows[ready], minlength=len(slots))
            if pending.any():
                reached = self.pending.settle(popped[pending])
                watch.lap("rollouts")
                goals.append(reached)
                rollouts[np.unique(rows[pending])] *= 2
                solved = np.isin(slots, self.table.nodes["slot"][reached])
                wanted[solved | (rollouts > MOST_ROLLOUTS)] = 0
        nodes = np.concatenate(taken) if taken else np.zeros(0, dtype=np.int64)
        nodes = nodes[np.argsort(self.table.nodes["slot"][nodes], kind="stable")]
        self._weigh(nodes, watch)
        return Taken(nodes, np.concatenate(goals) if goals else nodes[:0])

    def _put_back(self, ids: Ints) -> None:
        if len(ids):
            self.table.put_back(ids, self.table.nodes["key"][ids])

    def _estimate(self, ids: Ints, watch: Stopwatch) -> None:
        """Computes guessed h and reopens the nodes with their true keys."""
        if len(ids):
            self.estimates.settle(ids)
            self.table.put_back(ids, self.keys.of_nodes(self.table.nodes[ids]))
            watch.lap("heuristic")

    def _weigh(self, ids: Ints, watch: Stopwatch) -> None:
        """Fixes the weights of nodes for rerooted keys of their children."""
        if self.keys.rerooter is not None and len(ids):
            self.estimates.settle(ids)
            self.keys.rerooter.weigh(ids)
            watch.lap("heuristic")


def _places(wanted: Ints, rollouts: Ints) -> tuple[Ints, Ints]:
    """Rows of searches to pop from, repeated, and the rank of each pop; both `[B]`."""
    counts = np.where(wanted > 0, np.maximum(wanted, rollouts), 0)
    rows = np.repeat(np.arange(len(wanted)), counts)
    ranks = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, ranks
