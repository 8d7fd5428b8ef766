"""Estimated distance to the goal: powers of the tiles' distances plus linear conflicts.

The estimate is 0 only at the goal. It is not a number of moves: a tile at distance d counts d to
the power of `DISTANCE_POWER` and a conflict counts `CONFLICT_WEIGHT` times its moves. With a beam
of 300, plans for uniform 5x5 puzzles average 116 moves; plain Manhattan distance with linear
conflicts gives 131.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from hips.domains.sliding_tiles.kernels import COLUMN_STEP, ROW_STEP, Cells

UNIT = 4
"""Estimates are integers in quarters of a move."""
DISTANCE_POWER = 1.6
CONFLICT_WEIGHT = 2
LIMIT = 8192
"""Larger than the estimate of any puzzle up to 6x6."""
RADIX = 7
"""Digits of a cell in a line: 0 (tile of another line) or 1 … 6 (place of its goal in the line)."""


class Tables(NamedTuple):
    """Lookup tables of one puzzle size; `N` is the number of cells.

    Attributes:
        distance: `[N, N]` (tile, cell), estimate of the tile's distance to its goal; blank: 0.
        row_digit: `[N, N]` (tile, row), place of the tile's goal in that row plus 1, else 0.
        column_digit: `[N, N]` (tile, column), the same for columns.
        conflict: `[RADIX ** longest side]`, estimate of a line's conflicts by its digits.
        keys: `[N, N]` (symbol, cell), words whose exclusive or identifies a state.
        row: `[N]`, row of a cell, and of a tile's goal.
        column: `[N]`, column of a cell, and of a tile's goal.
        neighbour: `[N, 4]` (cell, action), the adjacent cell, or -1 off the board.
    """

    distance: npt.NDArray[np.int64]
    row_digit: npt.NDArray[np.int64]
    column_digit: npt.NDArray[np.int64]
    conflict: npt.NDArray[np.int64]
    keys: npt.NDArray[np.uint64]
    row: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    neighbour: npt.NDArray[np.int64]


@lru_cache(maxsize=32)
def tables(height: int, width: int) -> Tables:
    """The tables of a puzzle size."""
    size = height * width
    row, column = np.divmod(np.arange(size), width)
    moves = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    moves[0] = 0
    distance = np.rint(UNIT * moves**DISTANCE_POWER).astype(np.int64)
    row_digit = np.zeros((size, size), dtype=np.int64)
    column_digit = np.zeros((size, size), dtype=np.int64)
    for tile in range(1, size):
        row_digit[tile, row[tile]] = column[tile] + 1
        column_digit[tile, column[tile]] = row[tile] + 1
    # A constant of the search, not an experiment's randomness: plans must not depend on a seed.
    keys = np.random.Generator(np.random.PCG64(24)).integers(
        1, 2**64, size=(size, size), dtype=np.uint64
    )
    conflict = UNIT * CONFLICT_WEIGHT * _conflict_moves(max(height, width))
    next_row, next_column = row[:, None] + ROW_STEP, column[:, None] + COLUMN_STEP
    inside = (next_row >= 0) & (next_row < height) & (next_column >= 0) & (next_column < width)
    neighbour = np.where(inside, next_row * width + next_column, -1)
    return Tables(distance, row_digit, column_digit, conflict, keys, row, column, neighbour)


@numba.njit(cache=True)
def _conflict_moves(length: int) -> npt.NDArray[np.int64]:
    """Extra moves of every line of `length` cells.

    Tiles whose goal is in the line can stay if they are in order; every other such tile must step
    aside and back: two moves. The tiles that stay are the longest increasing subsequence.
    """
    result = np.empty(RADIX**length, dtype=np.int64)
    digits = np.empty(length, dtype=np.int64)
    longest = np.empty(length, dtype=np.int64)
    for code in range(len(result)):
        rest, members, best = code, 0, 0
        for _ in range(length):
            digit = rest % RADIX
            rest //= RADIX
            if digit == 0:
                continue
            run = 1
            for earlier in range(members):
                if digits[earlier] < digit:
                    run = max(run, longest[earlier] + 1)
            digits[members], longest[members] = digit, run
            members += 1
            best = max(best, run)
        result[code] = 2 * (members - best)
    return result


@numba.njit(cache=True, nogil=True)
def row_conflict(cells: Cells, row: int, width: int, tables: Tables) -> int:
    """Estimate of the conflicts in one row of a flat grid."""
    code = 0
    for cell in range((row + 1) * width - 1, row * width - 1, -1):
        code = code * RADIX + tables.row_digit[cells[cell], row]
    return int(tables.conflict[code])


@numba.njit(cache=True, nogil=True)
def column_conflict(cells: Cells, column: int, width: int, tables: Tables) -> int:
    """Estimate of the conflicts in one column of a flat grid."""
    code = 0
    for cell in range(len(cells) - width + column, -1, -width):
        code = code * RADIX + tables.column_digit[cells[cell], column]
    return int(tables.conflict[code])


@numba.njit(cache=True, nogil=True)
def estimate(cells: Cells, width: int, tables: Tables) -> int:
    """The estimate of one flat grid."""
    total = 0
    for cell in range(len(cells)):
        total += tables.distance[cells[cell], cell]
    for row in range(len(cells) // width):
        total += row_conflict(cells, row, width, tables)
    for column in range(width):
        total += column_conflict(cells, column, width, tables)
    return int(total)


@numba.njit(cache=True, nogil=True)
def estimate_all(states: Cells, width: int, tables: Tables) -> npt.NDArray[np.float64]:
    """The estimates of flat grids `[B, N]`, in moves."""
    result = np.empty(len(states))
    for b in range(len(states)):
        result[b] = estimate(states[b], width, tables) / UNIT
    return result


@numba.njit(cache=True, nogil=True)
def estimate_change(cells: Cells, blank: int, target: int, width: int, tables: Tables) -> int:
    """How the estimate changes if the tile in `target` moves into `blank`; `cells` is restored.

    A vertical move keeps the order within its column, and only the tile's goal row counts the
    tile, so at most one line changes.
    """
    tile = cells[target]
    change = tables.distance[tile, blank] - tables.distance[tile, target]
    vertical = tables.column[blank] == tables.column[target]
    if vertical:
        home = tables.row[tile]
        if home not in (tables.row[blank], tables.row[target]):
            return int(change)
        change -= row_conflict(cells, home, width, tables)
    else:
        home = tables.column[tile]
        if home not in (tables.column[blank], tables.column[target]):
            return int(change)
        change -= column_conflict(cells, home, width, tables)
    cells[blank], cells[target] = tile, 0
    if vertical:
        change += row_conflict(cells, home, width, tables)
    else:
        change += column_conflict(cells, home, width, tables)
    cells[blank], cells[target] = 0, tile
    return int(change)
