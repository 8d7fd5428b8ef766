"""Walks that visit every city and return, from near-optimal tours to random orders."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from hips.domains.tsp.kernels import AGENT, CITY, START, Cells, find_agent
from hips.domains.tsp.tours import Ints, improve, optimise

UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3


def plan(cells: Cells, size: int, rng: np.random.Generator, quality: float) -> Ints:
    """Actions from a flat grid to the goal.

    Each leg leads to the next city of a good tour with probability `quality`, otherwise to a
    random city. Cities passed on the way count as visited; the rest of the tour is then improved.
    """
    cities = np.flatnonzero(cells == CITY)
    at_random = rng.random(len(cities)) >= quality
    choices = rng.random(len(cities))
    start = int(np.flatnonzero(cells % AGENT == START)[0])
    return walk_tour(find_agent(cells), start, cities, size, at_random, choices)


def tidy(cells: Cells, size: int, passed: Ints) -> Ints:
    """Actions of a walk from a flat grid that takes its cities as a walk through `passed` does.

    2-opt and or-opt change their order where that shortens the tour.
    """
    visits = passed[cells[passed] == CITY]
    cities = visits[np.sort(np.unique(visits, return_index=True)[1])]
    start = int(np.flatnonzero(cells % AGENT == START)[0])
    never, choices = np.zeros(len(cities), dtype=np.bool_), np.zeros(len(cities))
    return walk_tour(find_agent(cells), start, cities, size, never, choices, True)


@numba.njit(cache=True, nogil=True)
def walk_tour(
    agent: int,
    start: int,
    cities: Ints,
    size: int,
    at_random: npt.NDArray[np.bool_],
    choices: npt.NDArray[np.float64],
    given_order: bool = False,
) -> Ints:
    """Walks from `agent` through all `cities` to `start` (cell indices).

    Args:
        agent: first cell of the walk.
        start: last cell of the walk.
        cities: unvisited cities `[k]`.
        size: side of the grid.
        at_random: `[k]`, whether leg i leads to a random city.
        choices: `[k]`, which one, as a number in [0, 1).
        given_order: whether the tour starts as the order of `cities`, to be improved locally.
    """
    count = len(cities)
    nodes = np.concatenate((cities, np.array([start, agent], dtype=np.int64)))
    rows, columns = nodes // size, nodes % size
    waiting = np.zeros(size * size, dtype=np.bool_)
    waiting[cities] = True
    actions = np.empty((count + 1) * 2 * size, dtype=np.int64)
    steps = 0
    path = np.empty(count + 2, dtype=np.int64)
    path[0], path[-1] = count + 1, count
    path[1:-1] = np.arange(count)
    if given_order:
        improve(path, rows, columns)
    elif not at_random.all():
        path = optimise(path, rows, columns)
    legs = 0
    while len(path) > 2:
        if at_random[legs]:
            chosen = 1 + int(choices[legs] * (len(path) - 2))
            path[1], path[chosen] = path[chosen], path[1]
        target = path[1]
        steps = _walk(rows, columns, target, size, waiting, actions, steps)
        left = _unvisited(path, nodes, waiting)
        disturbed = at_random[legs] or len(left) < len(path) - 1
        legs += 1
        path = left
        if disturbed and legs < count and not at_random[legs:].all():
            improve(path, rows, columns)
    steps = _walk(rows, columns, count, size, waiting, actions, steps)
    return actions[:steps].copy()


@numba.njit(cache=True, nogil=True)
def _walk(
    rows: Ints,
    columns: Ints,
    target: int,
    size: int,
    waiting: npt.NDArray[np.bool_],
    actions: Ints,
    steps: int,
) -> int:
    """Walks the agent (the last node) to a node, shorter axis first; returns the step count.

    The shorter axis stays shorter on the way, so replanning half-way gives the same walk, and
    the rule commutes with rotations of the map.
    """
    agent = len(rows) - 1
    down = rows[target] - rows[agent]
    right = columns[target] - columns[agent]
    vertical_first = right == 0 or (down != 0 and abs(down) <= abs(right))
    for leg in range(2):
        vertical = vertical_first == (leg == 0)
        offset = down if vertical else right
        for _ in range(abs(offset)):
            if vertical:
                rows[agent] += 1 if offset > 0 else -1
                actions[steps] = DOWN if offset > 0 else UP
            else:
                columns[agent] += 1 if offset > 0 else -1
                actions[steps] = RIGHT if offset > 0 else LEFT
            steps += 1
            waiting[rows[agent] * size + columns[agent]] = False
    return steps


@numba.njit(cache=True, nogil=True)
def _unvisited(path: Ints, nodes: Ints, waiting: npt.NDArray[np.bool_]) -> Ints:
    """The path without the visited cities."""
    kept = np.empty_like(path)
    kept[0] = path[0]
    count = 1
    for place in range(1, len(path) - 1):
        if waiting[nodes[path[place]]]:
            kept[count] = path[place]
            count += 1
    kept[count] = path[-1]
    return kept[: count + 1].copy()
