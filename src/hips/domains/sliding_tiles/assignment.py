"""The best permutation for cell scores: a linear assignment with the right parity."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from hips.domains._assignment import Floats, assign
from hips.domains.sliding_tiles.kernels import Cells, invariant

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
