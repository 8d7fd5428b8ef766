"""Coordinates of any range on the cells of a square grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hips.domains.tsp.levels import MAX_SIZE

MAX_FILL = 0.5
"""Share of cells with cities beyond which a larger grid is taken."""

Cell = tuple[int, int]


def side_for(count: int, usual: int) -> int:
    """Rows of a grid for `count` nodes: the usual number, or the largest if that is too small."""
    return usual if count <= MAX_FILL * usual * usual else MAX_SIZE


def place(points: Sequence[tuple[float, float]], side: int) -> tuple[list[Cell], int]:
    """Cells (row, column) of points (x, y), all different, and how many had to move aside.

    Both axes have the same scale. A point whose cell is taken gets the nearest free one.
    """
    coordinates = np.array(points, dtype=np.float64)
    low = coordinates.min(axis=0)
    extent = float((coordinates.max(axis=0) - low).max())
    scaled = (coordinates - low) * ((side - 1) / extent if extent > 0 else 0.0)
    free = np.ones((side, side), dtype=np.bool_)
    rows, columns = np.indices(free.shape)
    cells: list[Cell] = []
    moved = 0
    for column, row in np.rint(scaled).astype(np.int64).tolist():
        at = (row, column)
        if not free[at]:
            moved += 1
            distances = np.where(free, abs(rows - row) + abs(columns - column), 2 * side)
            at = divmod(int(distances.argmin()), side)
        free[at] = False
        cells.append(at)
    return cells, moved
