"""Areas that the player cannot enter, and those whose boxes have to be pushed first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.domains.sokoban.board import Board, Cells, Flags

Distances = npt.NDArray[np.int32]


@njit(cache=True, nogil=True)
def find_closed_area(
    board: Board, occupied: Flags, boxes: Cells, reached: Distances, areas: Cells, line: Cells
) -> int:
    """The closed area with the fewest pushes (known as a PI-corral); -1 if there is none.

    An area is a connected set of cells that the player cannot reach, boxes included. It is closed
    if no push that the player can reach moves a box of it onto a cell that the player can reach,
    and it needs work if a box of it is off the goals or a goal of it is free. All boxes next to it
    belong to it, so no push elsewhere can change what its pushes do, and one of them is necessary.

    Args:
        board: the level.
        occupied: walls and boxes, `[cells]`.
        boxes: cells of the boxes.
        reached: the player's walking distances, -1 where it cannot go, `[cells]`.
        areas: filled with the number of each cell's area, -1 for none, `[cells]`.
        line: scratch space, `[cells]`.
    """
    count = _number_areas(board, boxes, reached, areas, line)
    pushes, closed = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.bool_)
    for box in boxes:
        area = areas[box]
        for offset in board.offsets:
            to = box + offset
            if reached[box - offset] < 0 or occupied[to] or board.dead[to]:
                continue
            pushes[area] += 1
            closed[area] &= reached[to] < 0
    open_work = np.zeros(count, dtype=np.bool_)
    for goal in board.goals:
        if areas[goal] >= 0 and not occupied[goal]:
            open_work[areas[goal]] = True
    for box in boxes:
        open_work[areas[box]] |= board.nearest[box] > 0
    best = -1
    for area in range(count):
        if closed[area] and open_work[area] and (best < 0 or pushes[area] < pushes[best]):
            best = area
    return best


@njit(cache=True, nogil=True)
def _number_areas(board: Board, boxes: Cells, reached: Distances, areas: Cells, line: Cells) -> int:
    """Numbers the areas that contain boxes; returns their count."""
    areas[:] = -1
    count = 0
    for box in boxes:
        if areas[box] >= 0:
            continue
        areas[box] = count
        line[0] = box
        head, tail = 0, 1
        while head < tail:
            cell = line[head]
            head += 1
            for offset in board.offsets:
                to = cell + offset
                if board.walls[to] or reached[to] >= 0 or areas[to] >= 0:
                    continue
                areas[to] = count
                line[tail] = to
                tail += 1
        count += 1
    return count
