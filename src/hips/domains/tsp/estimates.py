"""Estimated moves to the end of a tour: a minimum spanning tree over what is left to visit."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from hips.domains.tsp.kernels import CITY, GROUND, START, Cells, find_agent


@numba.njit(cache=True, nogil=True)
def estimate(states: Cells, size: int) -> npt.NDArray[np.float64]:
    """Length of the tree over agent, unvisited cities and start, for flat grids `[B, N]`."""
    count, num_cells = states.shape
    result = np.zeros(count)
    left = np.empty(num_cells + 1, dtype=np.int64)
    nearest = np.empty(num_cells + 1, dtype=np.int64)
    for b in range(count):
        num_left = 0
        for cell in range(num_cells):
            ground = states[b, cell] & GROUND
            if ground == START or states[b, cell] == CITY:
                left[num_left] = cell
                num_left += 1
        agent = find_agent(states[b])
        if agent >= 0:
            result[b] = _tree_length(agent, left, nearest, num_left, size)
    return result


@numba.njit(cache=True, nogil=True)
def _tree_length(
    root: int,
    left: npt.NDArray[np.int64],
    nearest: npt.NDArray[np.int64],
    num_left: int,
    size: int,
) -> int:
    """Prim's algorithm from `root` over the first cells of `left`; overwrites both arrays."""
    for i in range(num_left):
        nearest[i] = _distance(root, left[i], size)
    total = 0
    while num_left > 0:
        best = np.argmin(nearest[:num_left])
        total += nearest[best]
        added = left[best]
        num_left -= 1
        left[best], nearest[best] = left[num_left], nearest[num_left]
        for i in range(num_left):
            nearest[i] = min(nearest[i], _distance(added, left[i], size))
    return int(total)


@numba.njit(cache=True, nogil=True)
def _distance(first: int, second: int, size: int) -> int:
    return int(abs(first // size - second // size) + abs(first % size - second % size))
