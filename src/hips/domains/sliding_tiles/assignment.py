"""The best permutation for cell scores: a linear assignment with the right parity."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from hips.domains.sliding_tiles.kernels import Cells, invariant

Floats = npt.NDArray[np.float64]
SCORE_BOUND = 1e6
"""Scores are clipped to this, so that sums stay finite."""


@numba.njit(cache=True, nogil=True)
def decode(scores: npt.NDArray[np.float32], origins: Cells, width: int) -> Cells:
    """Best grids for scores `[B, N, N]` (cell, symbol) with the parity of `origins`.

    Takes the likeliest symbol of each cell if that gives a permutation, the best assignment
    otherwise; the cheapest swap of two cells fixes a wrong parity.
    """
    count, size, _ = scores.shape
    result = np.empty((count, size), dtype=np.uint8)
    for b in range(count):
        gains = _finite(scores[b])
        cells = result[b]
        for cell in range(size):
            cells[cell] = np.argmax(gains[cell])
        if invariant(cells, width) < 0:
            cells[:] = assign(gains)
        if invariant(cells, width) != invariant(origins[b], width):
            _mend_parity(cells, gains, width)
    return result


@numba.njit(cache=True, nogil=True)
def _finite(scores: npt.NDArray[np.float32]) -> Floats:
    gains = np.empty(scores.shape, dtype=np.float64)
    for cell in range(scores.shape[0]):
        for symbol in range(scores.shape[1]):
            value = float(scores[cell, symbol])
            if np.isnan(value):
                value = -SCORE_BOUND
            gains[cell, symbol] = min(max(value, -SCORE_BOUND), SCORE_BOUND)
    return gains


@numba.njit(cache=True, nogil=True)
def assign(gains: Floats) -> Cells:
    """The permutation of largest total gain `[N, N]`, by shortest augmenting paths.

    Dual prices keep all reduced costs non-negative; one Dijkstra pass over the columns adds each
    row. Index 0 of the column arrays is a virtual column that holds the new row.
    """
    size = gains.shape[0]
    row_price = np.zeros(size + 1)
    column_price = np.zeros(size + 1)
    row_of = np.zeros(size + 1, dtype=np.int64)
    previous = np.zeros(size + 1, dtype=np.int64)
    for row in range(1, size + 1):
        row_of[0] = row
        column = 0
        slack = np.full(size + 1, np.inf)
        done = np.zeros(size + 1, dtype=np.bool_)
        while row_of[column] != 0:
            done[column] = True
            current = row_of[column]
            nearest, distance = 0, np.inf
            for other in range(1, size + 1):
                if done[other]:
                    continue
                cost = -gains[current - 1, other - 1] - row_price[current] - column_price[other]
                if cost < slack[other]:
                    slack[other] = cost
                    previous[other] = column
                if slack[other] < distance:
                    distance, nearest = slack[other], other
            for other in range(size + 1):
                if done[other]:
                    row_price[row_of[other]] += distance
                    column_price[other] -= distance
                else:
                    slack[other] -= distance
            column = nearest
        while column != 0:
            row_of[column] = row_of[previous[column]]
            column = previous[column]
    chosen = np.empty(size, dtype=np.uint8)
    for column in range(1, size + 1):
        chosen[row_of[column] - 1] = column - 1
    return chosen


@numba.njit(cache=True, nogil=True)
def _mend_parity(cells: Cells, gains: Floats, width: int) -> None:
    """Swaps the two cells that flip the invariant at the least cost, in place."""
    wrong = invariant(cells, width)
    best_first, best_second, best_loss = 0, 1, np.inf
    for first in range(len(cells)):
        for second in range(first + 1, len(cells)):
            a, b = cells[first], cells[second]
            loss = gains[first, a] + gains[second, b] - gains[first, b] - gains[second, a]
            if loss < best_loss:
                cells[first], cells[second] = b, a
                if invariant(cells, width) != wrong:
                    best_first, best_second, best_loss = first, second, loss
                cells[first], cells[second] = a, b
    swapped = cells[best_first]
    cells[best_first] = cells[best_second]
    cells[best_second] = swapped
