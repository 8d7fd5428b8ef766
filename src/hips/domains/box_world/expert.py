"""The Box-World expert: an exact search over boxes to open, with shortest walks in between."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hips.arrays import Actions, Grid
from hips.domains.box_world import kernels
from hips.domains.box_world.kernels import COLUMN_STEPS, FLOOR, GEM, ROW_STEPS
from hips.errors import ExpertError, UnsolvableError

MAX_NODES = 100_000
NOTHING = -1

Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Treasure:
    """A box, or a loose key or gem.

    Attributes:
        cell: the cell to enter to take it; for a box, the lock.
        lock: colour of the required key, or None if loose.
        content: the item held afterwards.
    """

    cell: Cell
    lock: int | None
    content: int

    def clear(self, grid: Grid) -> None:
        """Replaces its cells with floor."""
        row, column = self.cell
        grid[row, column] = FLOOR
        if self.lock is not None:
            grid[row, column - 1] = FLOOR


def find_treasures(grid: Grid) -> list[Treasure]:
    """All boxes and loose treasures, row by row."""
    found = []
    for row, column in np.argwhere(grid[1:-1, 1:-1] >= GEM) + 1:
        symbol = int(grid[row, column])
        cell = (int(row), int(column))
        if kernels.is_lock(grid, *cell):
            found.append(Treasure(cell, symbol, int(grid[row, column - 1])))
        elif kernels.is_loose(grid, *cell):
            found.append(Treasure(cell, None, symbol))
    return found


@dataclass(frozen=True, slots=True)
class _Node:
    """The set of treasures taken (bits) and the last one (an index or `NOTHING`)."""

    taken: int
    last: int


class _KeySearch:
    """Dijkstra's algorithm over treasures taken; the agent stands where it took the last one."""

    def __init__(self, state: Grid) -> None:
        self.start: Cell = kernels.find_agent(state)
        if self.start[0] < 0:
            raise ExpertError("the state has no agent")
        self.floor = state.copy()
        self.floor[self.start] = FLOOR
        self.treasures = find_treasures(self.floor)
        self.first_key = int(state[0, 0])

    def run(self) -> list[Treasure]:
        """The treasures to take, in the order of the shortest plan; the gem comes last."""
        root = _Node(0, NOTHING)
        costs = {root: 0}
        parents = {root: root}
        order = itertools.count()  # breaks ties: first found, first expanded
        heap = [(0, next(order), root)]
        while heap:
            cost, _, node = heapq.heappop(heap)
            if cost > costs[node]:
                continue
            if node.last != NOTHING and self.treasures[node.last].content == GEM:
                return self._walk_back(parents, node)
            for child, steps in self._children(node):
                if cost + steps < costs.get(child, cost + steps + 1):
                    costs[child] = cost + steps
                    parents[child] = node
                    heapq.heappush(heap, (cost + steps, next(order), child))
            if len(costs) > MAX_NODES:
                raise ExpertError(f"no plan within {MAX_NODES:,} combinations of opened boxes")
        raise UnsolvableError("no plan exists: no way to use the keys leads to the gem")

    def _children(self, node: _Node) -> Iterator[tuple[_Node, int]]:
        held, cell = self.first_key, self.start
        if node.last != NOTHING:
            held, cell = self.treasures[node.last].content, self.treasures[node.last].cell
        wanted = [
            (index, treasure)
            for index, treasure in enumerate(self.treasures)
            if treasure.lock in (None, held) and not node.taken >> index & 1
        ]
        if not wanted:
            return
        grid = self.floor.copy()
        for index, treasure in enumerate(self.treasures):
            if node.taken >> index & 1:
                treasure.clear(grid)
        steps = kernels.distances(grid, *cell)
        for index, treasure in wanted:
            if steps[treasure.cell] != kernels.UNREACHED:
                yield _Node(node.taken | 1 << index, index), int(steps[treasure.cell])

    def _walk_back(self, parents: dict[_Node, _Node], node: _Node) -> list[Treasure]:
        order = []
        while node.last != NOTHING:
            order.append(self.treasures[node.last])
            node = parents[node]
        return order[::-1]


def walk(grid: Grid, start: Cell, end: Cell) -> list[int]:
    """A shortest walk over floor; of equally good moves it takes the first."""
    remaining = kernels.distances(grid, *end)
    row, column = start
    actions: list[int] = []
    while (row, column) != end:
        for action in range(len(ROW_STEPS)):
            to = row + int(ROW_STEPS[action]), column + int(COLUMN_STEPS[action])
            nearer = remaining[to] == remaining[row, column] - 1
            if nearer and (to == end or grid[to] == FLOOR):
                row, column = to
                actions.append(action)
                break
    return actions


def _detour(steps: npt.NDArray[np.int64], grid: Grid, rng: np.random.Generator) -> Cell:
    """A random reachable floor cell."""
    cells = np.argwhere((steps != kernels.UNREACHED) & (grid == FLOOR))
    row, column = cells[rng.integers(len(cells))]
    return int(row), int(column)


def plan(state: Grid, rng: np.random.Generator, quality: float) -> Actions:
    """Actions from `state` to the gem.

    At quality 1 this is the shortest plan. Below, each walk to a treasure first visits a random
    free cell with probability `1 - quality`. Detours stay on free floor, so they take nothing and
    cause no dead end. Walks always break ties alike: a demonstrator has habits.

    Raises:
        UnsolvableError: the gem is out of reach.
        ExpertError: the search exceeded its node limit.
    """
    if state[0, 0] == GEM:
        return np.zeros(0, dtype=np.int64)
    search = _KeySearch(state)
    grid, cell = search.floor, search.start
    actions: list[int] = []
    for treasure in search.run():
        if rng.random() >= quality:
            waypoint = _detour(kernels.distances(grid, *cell), grid, rng)
            actions += walk(grid, cell, waypoint)
            cell = waypoint
        actions += walk(grid, cell, treasure.cell)
        treasure.clear(grid)
        cell = treasure.cell
    return np.array(actions, dtype=np.int64)
