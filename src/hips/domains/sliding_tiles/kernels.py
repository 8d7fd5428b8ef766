"""Compiled rules of the sliding tiles, over flat grids `[B, height * width]`."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.uint8]

BLANK = 0
ROW_STEP = np.array([-1, 0, 1, 0], dtype=np.int64)
COLUMN_STEP = np.array([0, 1, 0, -1], dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def find_blank(cells: Cells) -> int:
    """Index of the blank in one flat grid, or -1."""
    for index in range(len(cells)):
        if cells[index] == BLANK:
            return index
    return -1


@numba.njit(cache=True, nogil=True)
def step(states: Cells, actions: npt.NDArray[np.int64], height: int, width: int) -> Cells:
    """Moves each blank one cell: `[B, N]`, `[B]` -> `[B, N]`; a blocked move changes nothing."""
    count, size = states.shape
    result = np.empty_like(states)
    for b in range(count):
        blank = 0
        for index in range(size):
            symbol = states[b, index]
            result[b, index] = symbol
            if symbol == BLANK:
                blank = index
        action = actions[b]
        row = blank // width
        target_row = row + ROW_STEP[action]
        target_column = blank - row * width + COLUMN_STEP[action]
        if 0 <= target_row < height and 0 <= target_column < width:
            target = target_row * width + target_column
            result[b, blank] = states[b, target]
            result[b, target] = BLANK
    return result


@numba.njit(cache=True, nogil=True)
def is_goal(states: Cells) -> npt.NDArray[np.bool_]:
    """Which flat grids are `0 1 2 …` in order."""
    count, size = states.shape
    solved = np.ones(count, dtype=np.bool_)
    for b in range(count):
        for index in range(size):
            if states[b, index] != index:
                solved[b] = False
                break
    return solved


@numba.njit(cache=True, nogil=True)
def invariant(cells: Cells, width: int) -> int:
    """The invariant of moves for one flat grid: 0 or 1, or -1 if it is not a permutation.

    Every move is one transposition and flips the colour of the blank's cell on a chessboard, so
    the parity of the permutation plus that colour never changes. The goal has 0.
    """
    size = len(cells)
    seen = np.int64(0)
    for index in range(size):
        symbol = np.int64(cells[index])
        if symbol >= size or (seen >> symbol) & 1:
            return -1
        seen |= np.int64(1) << symbol
    blank = find_blank(cells)
    parity = (blank // width + blank % width) & 1
    visited = np.int64(0)
    for index in range(size):
        if not (visited >> index) & 1:
            at = np.int64(index)
            visited |= np.int64(1) << at
            while cells[at] != index:
                at = np.int64(cells[at])
                visited |= np.int64(1) << at
                parity ^= 1
    return int(parity)


@numba.njit(cache=True, nogil=True)
def invariants(states: Cells, width: int) -> npt.NDArray[np.int64]:
    """`invariant` of every flat grid `[B, N]`."""
    result = np.empty(len(states), dtype=np.int64)
    for b in range(len(states)):
        result[b] = invariant(states[b], width)
    return result


@numba.njit(cache=True, nogil=True)
def is_legal(states: Cells, origins: Cells, width: int) -> npt.NDArray[np.bool_]:
    """Which grids are permutations with the invariant of their origins."""
    legal = np.empty(len(states), dtype=np.bool_)
    for b in range(len(states)):
        kind = invariant(states[b], width)
        legal[b] = kind >= 0 and kind == invariant(origins[b], width)
    return legal
