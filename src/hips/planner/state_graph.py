"""A growing graph of a problem's states, with shortest paths through it."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from hips.arrays import Actions, Bools, Grid, Grids, Ints32
from hips.domains.base import Domain
from hips.planner import graph_kernels
from hips.planner.graph_kernels import FAR, UNKNOWN, Links, Words

Found = TypeVar("Found")
Slices: TypeAlias = Generator[None, None, Found]
"""Work in short slices with a pause after each, so that it can stop on time; returns `Found`."""

FEWEST_NODES = 1 << 12
TABLE_BYTES = 48
"""At most so many bytes of the hash table per node."""
WORD_BYTES = 8
CHUNK_BYTES = 1 << 19
"""Bytes of states that are expanded at once; they fit into a core's cache."""


class GraphFullError(Exception):
    """The memory of a graph is used up."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path from the start to a goal.

    Attributes:
        actions: `[L]`.
        nodes: `[L + 1]`, from the start to the goal.
    """

    actions: Actions
    nodes: Ints32

    def __len__(self) -> int:
        return len(self.actions)


class StateGraph:
    """States reached from a start and the edges between them; node 0 is the start.

    Attributes:
        num_nodes: number of distinct states.
        goals: `[capacity]`, which nodes are goals; a goal is its own successor.
        links: the edges, and the shortest known paths from the start.
        capacity: most nodes that fit into the memory.
        chunk: number of nodes to expand at once.
    """

    def __init__(self, domain: Domain, start: Grid, max_bytes: int) -> None:
        self.domain = domain
        self.num_nodes = 0
        self._cells = math.prod(start.shape)
        self.chunk = max(16, CHUNK_BYTES // self._cells)
        words, num_actions = -(-self._cells // WORD_BYTES), domain.spec.num_actions
        row = WORD_BYTES * words + 4 * (num_actions + 2) + 1 + TABLE_BYTES
        self.capacity = max(FEWEST_NODES, max_bytes // row)
        # The operating system provides the memory of a page when it is first used.
        self._words: Words = np.empty((self.capacity, words), dtype=np.uint64)
        places = 1 << (3 * self.capacity // 2 - 1).bit_length()
        self._table: Words = np.zeros((places, 2), dtype=np.uint64)
        self.goals: Bools = np.zeros(self.capacity, dtype=np.bool_)
        self.links = Links(
            np.empty((self.capacity, num_actions), dtype=np.int32),
            np.empty(self.capacity, dtype=np.int32),
            np.empty(self.capacity, dtype=np.int32),
        )
        self._goal_nodes: Ints32 = np.zeros(0, dtype=np.int32)
        self.add(start[None])
        self.links.steps[0] = 0

    def states(self, nodes: Ints32 | slice) -> Grids:
        """States `[M, H, W]` of nodes."""
        cells = self._words[nodes].view(np.uint8)[:, : self._cells]
        return np.ascontiguousarray(cells).reshape(-1, *self.domain.spec.shape)

    def add(self, states: Grids) -> Ints32:
        """Nodes `[M]` of states `[M, H, W]`.

        Raises:
            GraphFullError: they might not fit.
        """
        if self.num_nodes + len(states) > self.capacity:
            raise GraphFullError
        words: Words = np.zeros((len(states), self._words.shape[1]), dtype=np.uint64)
        words.view(np.uint8)[:, : self._cells] = states.reshape(len(states), self._cells)
        before = self.num_nodes
        nodes, self.num_nodes = graph_kernels.intern(self._table, self._words, before, words)
        if self.num_nodes > before:
            self.links.successors[before : self.num_nodes] = UNKNOWN
            self.links.steps[before : self.num_nodes] = FAR
            fresh = self.domain.is_goal(self.states(slice(before, self.num_nodes)))
            if fresh.any():
                goals = (before + np.flatnonzero(fresh)).astype(np.int32)
                self.goals[goals] = True
                self.links.successors[goals] = goals[:, None]
                self._goal_nodes = np.concatenate([self._goal_nodes, goals])
        return nodes

    def is_expanded(self, nodes: Ints32) -> Bools:
        """Which nodes have successors, `[M]`."""
        return np.asarray(self.links.successors[nodes, 0] != UNKNOWN)

    def expand(self, nodes: Ints32) -> None:
        """Adds the successors of distinct unexpanded nodes."""
        states = self.states(nodes)
        children = np.empty((len(nodes), self.domain.spec.num_actions), dtype=np.int32)
        for action in range(children.shape[1]):
            actions = np.full(len(nodes), action, dtype=np.int64)
            children[:, action] = self.add(self.domain.step(states, actions))
        graph_kernels.link(self.links, self.num_nodes, nodes, children)

    def expand_new(self, nodes: Ints32) -> None:
        """Expands those of distinct nodes that are not expanded yet."""
        for _ in self.expand_in_slices(nodes):
            pass

    def expand_in_slices(self, nodes: Ints32) -> Slices[None]:
        """The same with a pause after every `chunk` of nodes."""
        new = nodes[~self.is_expanded(nodes)]
        for first in range(0, len(new), self.chunk):
            self.expand(new[first : first + self.chunk])
            yield

    def best(self) -> Path | None:
        """A shortest known path to a goal."""
        steps = self.links.steps[self._goal_nodes]
        if not len(steps) or steps.min() == FAR:
            return None
        goal = int(self._goal_nodes[steps.argmin()])
        return Path(*graph_kernels.path_to(self.links, goal))

    def near(self, nodes: Ints32) -> tuple[Ints32, Ints32]:
        """Unexpanded nodes reached from `nodes`, nearest first, and their distances."""
        return graph_kernels.near(self.links.successors, self.num_nodes, nodes)
