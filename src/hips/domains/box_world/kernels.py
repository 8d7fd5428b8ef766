"""The rules of Box-World as Numba kernels over batches of grids.

Symbols from `GEM` on are *treasures*. Two side by side in a row are a box: the right one is the
lock, the left one the content. A treasure alone is loose. Cell (0, 0) shows what is held.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Actions, Bools, Grid, Grids, Scores

WALL, FLOOR, AGENT, GEM, FIRST_COLOUR = 0, 1, 2, 3, 4
UNREACHED = -1
ROW_STEPS = np.array([-1, 0, 1, 0], dtype=np.int64)
COLUMN_STEPS = np.array([0, 1, 0, -1], dtype=np.int64)

Counts = npt.NDArray[np.int64]  # [symbols]


@njit(cache=True, nogil=True)
def is_lock(grid: Grid, row: int, column: int) -> bool:
    """Whether an inner cell holds the lock of a box."""
    return bool(grid[row, column] >= FIRST_COLOUR and grid[row, column - 1] >= GEM)


@njit(cache=True, nogil=True)
def is_loose(grid: Grid, row: int, column: int) -> bool:
    """Whether an inner cell holds a key or gem outside any box."""
    alone = grid[row, column + 1] < FIRST_COLOUR
    return bool(grid[row, column] >= GEM and alone and not is_lock(grid, row, column))


@njit(cache=True, nogil=True)
def find_agent(grid: Grid) -> tuple[int, int]:
    """Row and column of the agent, or (-1, -1)."""
    for row in range(1, grid.shape[0] - 1):
        for column in range(1, grid.shape[1] - 1):
            if grid[row, column] == AGENT:
                return row, column
    return -1, -1


@njit(cache=True, nogil=True)
def _move(grid: Grid, action: int) -> None:
    """T(s, a) in place."""
    held = grid[0, 0]
    row, column = find_agent(grid)
    if row < 0 or held == GEM:
        return
    to_row, to_column = row + ROW_STEPS[action], column + COLUMN_STEPS[action]
    height, width = grid.shape
    if not (0 < to_row < height - 1 and 0 < to_column < width - 1):
        return
    target = grid[to_row, to_column]
    if is_lock(grid, to_row, to_column):
        if target != held:
            return
        grid[0, 0] = grid[to_row, to_column - 1]
        grid[to_row, to_column - 1] = FLOOR
    elif is_loose(grid, to_row, to_column):
        grid[0, 0] = target
    elif target != FLOOR:
        return
    grid[to_row, to_column] = AGENT
    grid[row, column] = FLOOR


@njit(cache=True, nogil=True)
def step(states: Grids, actions: Actions) -> Grids:
    """T(s, a) for a batch `[B, H, W]`, `[B]`."""
    result = states.copy()
    for index in range(len(result)):
        _move(result[index], actions[index])
    return result


@njit(cache=True, nogil=True)
def _account(state: Grid, origin: Grid, balance: Counts, contents: Counts) -> int:
    """Counts the treasures taken between `origin` and `state`, ignoring the held cell.

    Fills `contents` with how often each treasure was picked up, and `balance` with that plus the
    item held in `origin` minus the keys used up. Returns the number of boxes and loose treasures
    taken, or -1 if the cells are inconsistent.
    """
    balance[:] = 0
    contents[:] = 0
    agents = taken = 0
    height, width = origin.shape
    for row in range(height):
        for column in range(width):
            symbol, before = state[row, column], origin[row, column]
            if symbol >= len(balance):
                return -1
            if row + column == 0:
                continue
            free = symbol in (FLOOR, AGENT)
            agents += symbol == AGENT
            if before == WALL or before >= GEM:
                if symbol != before and (before == WALL or not free):
                    return -1
            elif not free:
                return -1
            if before < GEM:
                continue
            lock = is_lock(origin, row, column)
            if lock and free != (state[row, column - 1] != origin[row, column - 1]):
                return -1
            if free and (lock or is_loose(origin, row, column)):
                content = origin[row, column - 1] if lock else before
                contents[content] += 1
                balance[content] += 1
                balance[before] -= lock
                taken += 1
    if origin[0, 0] >= GEM:
        balance[origin[0, 0]] += 1
    return taken if agents == 1 else -1


@njit(cache=True, nogil=True)
def _may_hold(held: int, taken: int, before: int, balance: Counts, contents: Counts) -> bool:
    """Whether `held` is consistent with the counts of `_account`."""
    if taken == 0:
        return bool(held == before)
    if contents[held] == 0 or (contents[GEM] > 0 and held != GEM):
        return False
    short = 0
    for symbol in range(GEM, len(balance)):
        short += balance[symbol] < (symbol == held)
    return short == 0


@njit(cache=True, nogil=True)
def is_legal(states: Grids, origins: Grids, num_symbols: int) -> Bools:
    """Same walls, one agent, no new treasures, and a held key consistent with those taken."""
    result = np.zeros(len(states), dtype=np.bool_)
    balance = np.zeros(num_symbols, dtype=np.int64)
    contents = np.zeros(num_symbols, dtype=np.int64)
    for index in range(len(states)):
        state, origin = states[index], origins[index]
        taken = _account(state, origin, balance, contents)
        if taken >= 0:
            held, before = state[0, 0], origin[0, 0]
            result[index] = _may_hold(held, taken, before, balance, contents)
    return result


@njit(cache=True, nogil=True)
def _take_improbable(scores: Scores, state: Grid, penalty: npt.NDArray[np.float64]) -> None:
    """Removes the boxes and loose treasures whose cells score better as floor.

    For those that stay, writes the cost of removing them to `penalty` at their cells.
    """
    for row in range(1, state.shape[0] - 1):
        # From the right, so that a lock is seen before the content that makes it one.
        for column in range(state.shape[1] - 2, 0, -1):
            lock = is_lock(state, row, column)
            if not (lock or is_loose(state, row, column)):
                continue
            first = column - 1 if lock else column
            gain = 0.0
            for cell in range(first, column + 1):
                gain += scores[row, cell, FLOOR] - scores[row, cell, state[row, cell]]
            for cell in range(first, column + 1):
                if gain > 0.0:
                    state[row, cell] = FLOOR
                else:
                    penalty[row, cell] = gain


@njit(cache=True, nogil=True)
def _place_agent(scores: Scores, state: Grid, penalty: npt.NDArray[np.float64]) -> None:
    """Places the agent where it scores best, removing any treasure there."""
    best, best_row, best_column = -np.inf, 1, 1
    for row in range(1, state.shape[0] - 1):
        for column in range(1, state.shape[1] - 1):
            if state[row, column] == WALL:
                continue
            gain = scores[row, column, AGENT] - scores[row, column, FLOOR] + penalty[row, column]
            if gain > best:
                best, best_row, best_column = gain, row, column
    if is_lock(state, best_row, best_column):
        state[best_row, best_column - 1] = FLOOR
    elif state[best_row, best_column] >= GEM and not is_loose(state, best_row, best_column):
        state[best_row, best_column + 1] = FLOOR
    state[best_row, best_column] = AGENT


@njit(cache=True, nogil=True)
def decode(scores: Scores, origins: Grids) -> Grids:
    """Likely grids for cell scores: each box stays or goes, one agent, the best held symbol."""
    num_symbols = scores.shape[3]
    result = origins.copy()
    balance = np.zeros(num_symbols, dtype=np.int64)
    contents = np.zeros(num_symbols, dtype=np.int64)
    penalty = np.zeros(origins.shape[1:], dtype=np.float64)
    for index in range(len(origins)):
        state, origin = result[index], origins[index]
        row, column = find_agent(origin)
        if row >= 0:
            state[row, column] = FLOOR
        penalty[:] = 0.0
        _take_improbable(scores[index], state, penalty)
        _place_agent(scores[index], state, penalty)
        taken = _account(state, origin, balance, contents)
        best = -np.inf
        for symbol in range(num_symbols):
            score = scores[index, 0, 0, symbol]
            if score > best and _may_hold(symbol, taken, origin[0, 0], balance, contents):
                best, state[0, 0] = score, symbol
    return result


@njit(cache=True, nogil=True)
def distances(grid: Grid, row: int, column: int) -> npt.NDArray[np.int64]:
    """Steps `[H, W]` from a cell over floor; treasures can be reached but not crossed."""
    height, width = grid.shape
    result = np.full((height, width), UNREACHED, dtype=np.int64)
    queue = np.empty((height * width, 2), dtype=np.int64)
    queue[0, 0], queue[0, 1] = row, column
    result[row, column] = 0
    first, last = 0, 1
    while first < last:
        row, column = queue[first]
        first += 1
        if result[row, column] > 0 and grid[row, column] != FLOOR:
            continue
        for action in range(4):
            to_row, to_column = row + ROW_STEPS[action], column + COLUMN_STEPS[action]
            outside = not (0 < to_row < height - 1 and 0 < to_column < width - 1)
            if outside or grid[to_row, to_column] == WALL or result[to_row, to_column] >= 0:
                continue
            result[to_row, to_column] = result[row, column] + 1
            queue[last, 0], queue[last, 1] = to_row, to_column
            last += 1
    return result
