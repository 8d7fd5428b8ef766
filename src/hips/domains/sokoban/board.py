"""Precomputed facts about one level for the expert: distances, dead squares, deadlocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Grid
from hips.domains._assignment import assign
from hips.domains.sokoban.kernels import PLAYER, WALL, is_box, is_goal_cell

Cells = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FAR = 1 << 32
"""The distance of unreachable cells; larger than the pushes of any plan."""
MATCHED_BOXES = 40
"""Boxes up to which bounds assign each box to a goal of its own."""


class Board(NamedTuple):
    """The static part of a level, on flat cells of the grid padded with one ring of walls.

    Attributes:
        width: cells in a padded row.
        offsets: offsets of the four actions on flat cells, `[4]`.
        walls: `[cells]`.
        goals: `[goals]`.
        distances: pushes of a lone box from each cell to each goal, `[goals, cells]`.
        nearest: pushes of a lone box from each cell to the nearest goal, `[cells]`.
        dead: squares from which a box can reach no goal, `[cells]`.
    """

    width: int
    offsets: Cells
    walls: Flags
    goals: Cells
    distances: Cells
    nearest: Cells
    dead: Flags


@njit(cache=True, nogil=True)
def read_pieces(grid: Grid) -> tuple[Cells, int]:
    """The cells of a grid's boxes on its padded board, ascending, and the player's (-1: none)."""
    width = grid.shape[1] + 2
    boxes = np.empty(grid.size, dtype=np.int64)
    count, player = 0, -1
    for r in range(grid.shape[0]):
        for c in range(grid.shape[1]):
            cell, at = grid[r, c], (r + 1) * width + c + 1
            if is_box(cell):
                boxes[count] = at
                count += 1
            if cell >= PLAYER:
                player = at
    return boxes[:count].copy(), player


@njit(cache=True, nogil=True)
def read_board(grid: Grid) -> tuple[Board, Cells, int]:
    """The board of a grid, its boxes in ascending order, and the player's cell (-1: none)."""
    height, width = grid.shape[0] + 2, grid.shape[1] + 2
    walls = np.ones(height * width, dtype=np.bool_)
    goals = np.empty(grid.size, dtype=np.int64)
    num_goals = 0
    for r in range(grid.shape[0]):
        for c in range(grid.shape[1]):
            cell, at = grid[r, c], (r + 1) * width + c + 1
            walls[at] = cell == WALL
            if is_goal_cell(cell):
                goals[num_goals] = at
                num_goals += 1
    offsets = np.array([-width, 1, width, -1], dtype=np.int64)
    goals = goals[:num_goals].copy()
    distances = np.empty((num_goals, height * width), dtype=np.int64)
    nearest = np.full(height * width, FAR, dtype=np.int64)
    for i in range(num_goals):
        _push_distances(walls, offsets, goals[i], distances[i])
        nearest = np.minimum(nearest, distances[i])
    board = Board(width, offsets, walls, goals, distances, nearest, nearest >= FAR)
    boxes, player = read_pieces(grid)
    return board, boxes, player


@njit(cache=True, nogil=True)
def _push_distances(walls: Flags, offsets: Cells, goal: int, distance: Cells) -> None:
    """Pushes from every cell to `goal`, found by pulling a lone box away from the goal."""
    distance[:] = FAR
    distance[goal] = 0
    queue = np.empty(walls.size, dtype=np.int64)
    queue[0] = goal
    head, tail = 0, 1
    while head < tail:
        cell = queue[head]
        head += 1
        for offset in offsets:
            before = cell - offset
            if walls[before] or walls[before - offset] or distance[before] < FAR:
                continue
            distance[before] = distance[cell] + 1
            queue[tail] = before
            tail += 1


@njit(cache=True, nogil=True)
def pushes_needed(board: Board, boxes: Cells) -> int:
    """A lower bound on the pushes left: the cheapest assignment of boxes to goals.

    With more than `MATCHED_BOXES` boxes, every box goes to its nearest goal instead. The bound is
    `FAR` or more if a box can reach no goal, or if there is no assignment.
    """
    count = len(boxes)
    if count > MATCHED_BOXES:
        total = 0
        for box in boxes:
            total += board.nearest[box]
        return int(total)
    gains = np.empty((count, count))
    for i in range(count):
        for goal in range(count):
            gains[i, goal] = -board.distances[goal, boxes[i]]
    total = 0
    for i, goal in enumerate(assign(gains)):
        total += board.distances[goal, boxes[i]]
    return int(total)


@njit(cache=True, nogil=True)
def is_frozen(board: Board, boxes: Cells, frozen: Flags) -> bool:
    """Whether a box off the goals can never move again.

    The frozen boxes are the largest set in which each is blocked on both axes by a wall, by a
    dead square on either side, or by another box of the set: none can be the first to move.
    `frozen` is scratch space `[cells]`, all False on entry and on return.
    """
    for box in boxes:
        frozen[box] = True
    changed = True
    while changed:
        changed = False
        for box in boxes:
            if frozen[box] and not (
                _axis_blocked(board, box, 1, frozen)
                and _axis_blocked(board, box, board.width, frozen)
            ):
                frozen[box] = False
                changed = True
    stuck = False
    for box in boxes:
        if frozen[box]:
            frozen[box] = False
            on_goal = False
            for goal in board.goals:
                on_goal |= goal == box
            stuck |= not on_goal
    return stuck


@njit(cache=True, nogil=True)
def _axis_blocked(board: Board, box: int, offset: int, frozen: Flags) -> bool:
    before, after = box - offset, box + offset
    if board.walls[before] or board.walls[after] or frozen[before] or frozen[after]:
        return True
    return bool(board.dead[before] and board.dead[after])
