"""Compiled rules of the travelling salesman, over flat grids `[B, size * size]`.

A symbol is the ground of the cell (0 floor, 1 city, 2 visited city, 3 start) plus `AGENT` if the
agent stands there.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.uint8]

FLOOR, CITY, VISITED, START = 0, 1, 2, 3
AGENT = 4
GROUND = 3
"""Bit mask of a cell's ground."""
ROW_STEP = np.array([-1, 0, 1, 0], dtype=np.int64)
COLUMN_STEP = np.array([0, 1, 0, -1], dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def find_agent(cells: Cells) -> int:
    """Index of the agent in one flat grid, or -1."""
    for index in range(len(cells)):
        if cells[index] >= AGENT:
            return index
    return -1


@numba.njit(cache=True, nogil=True)
def step(states: Cells, actions: npt.NDArray[np.int64], size: int) -> Cells:
    """Moves each agent one cell: `[B, N]`, `[B]` -> `[B, N]`; entering a city visits it."""
    result = states.copy()
    for b in range(len(states)):
        agent = find_agent(states[b])
        row = agent // size + ROW_STEP[actions[b]]
        column = agent % size + COLUMN_STEP[actions[b]]
        if agent >= 0 and 0 <= row < size and 0 <= column < size:
            target = row * size + column
            entered = states[b, target]
            result[b, agent] -= AGENT
            result[b, target] = AGENT + (VISITED if entered == CITY else entered)
    return result


@numba.njit(cache=True, nogil=True)
def is_goal(states: Cells) -> npt.NDArray[np.bool_]:
    """Which agents are back at the start with no city left."""
    count, size = states.shape
    solved = np.zeros(count, dtype=np.bool_)
    for b in range(count):
        home = False
        for index in range(size):
            if states[b, index] == CITY:
                home = False
                break
            if states[b, index] == AGENT + START:
                home = True
        solved[b] = home
    return solved


@numba.njit(cache=True, nogil=True)
def is_legal(states: Cells, origins: Cells) -> npt.NDArray[np.bool_]:
    """Which grids have their origin's map, one agent, no visit undone and no agent on a city."""
    count, size = states.shape
    legal = np.empty(count, dtype=np.bool_)
    for b in range(count):
        agents = 0
        same_map = True
        for index in range(size):
            symbol = states[b, index]
            now, before = symbol & GROUND, origins[b, index] & GROUND
            newly_visited = before == CITY and now == VISITED
            if symbol >= 2 * AGENT or not (now == before or newly_visited):
                same_map = False
                break
            if symbol >= AGENT:
                agents += 1
                same_map &= now != CITY
        legal[b] = same_map and agents == 1
    return legal


@numba.njit(cache=True, nogil=True)
def decode(scores: npt.NDArray[np.float32], origins: Cells) -> Cells:
    """The legal grids of largest total score `[B, N, 8]`.

    Apart from the agent, cells are independent: each takes the best symbol its origin allows, and
    the agent goes to the cell where it gains most.
    """
    count, size, _ = scores.shape
    result = np.empty((count, size), dtype=np.uint8)
    for b in range(count):
        agent, best_gain = 0, -np.inf
        for index in range(size):
            before = origins[b, index] & GROUND
            alone = before
            if before == CITY and scores[b, index, VISITED] > scores[b, index, CITY]:
                alone = VISITED
            result[b, index] = alone
            under_agent = VISITED if before == CITY else before
            gain = scores[b, index, AGENT + under_agent] - scores[b, index, alone]
            if gain > best_gain:
                agent, best_gain = index, gain
        under_agent = VISITED if result[b, agent] == CITY else result[b, agent]
        result[b, agent] = AGENT + under_agent
    return result
