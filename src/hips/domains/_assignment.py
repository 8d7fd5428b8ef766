"""Linear assignment as a compiled function."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Choices = npt.NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def assign(gains: Floats) -> Choices:
    """The column of each row, `[N]`, in the assignment of largest total gain `[N, N]`.

    Dual prices keep all reduced costs non-negative; one shortest augmenting path (Dijkstra over
    the columns) adds each row. Index 0 of the column arrays is a virtual column that holds the
    new row.
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
    chosen = np.empty(size, dtype=np.int64)
    for column in range(1, size + 1):
        chosen[row_of[column] - 1] = column - 1
    return chosen
