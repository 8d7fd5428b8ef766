"""Rooms like those people draw: halls, corridors and storage rooms, sizes and boxes at random.

A plan of rectangles, joined by corridors, is carved out of solid rock; some halls get pillars.
Goals lie together in one corner of a hall, in a row along a wall, or scattered. Boxes start on
the goals and are *pulled* away by random walks, so every room can be solved by pushing; the room
is as large as what was carved, with solid walls around it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hips.arrays import Grid
from hips.domains.sokoban.board import Flags, read_board
from hips.domains.sokoban.generator import Integers, Random, draw, mix
from hips.domains.sokoban.kernels import (
    BOX,
    BOX_ON_GOAL,
    FLOOR,
    GOAL,
    PLAYER,
    PLAYER_ON_GOAL,
    WALL,
)
from hips.domains.sokoban.search import SOLVED, search

MIN_SIDE, MAX_SIDE = 5, 20
CELLS_PER_BOX = 6
"""Cells of a room for each box at most."""
MAX_ATTEMPTS = 400
SEARCH_WEIGHT, SEARCH_NODES = 12, 1 << 13
"""A room counts if a search of this weight and size finds a plan: the expert will, too."""
PULLS_PER_BOX = 60
"""Pulls of a box on average."""
MAX_IDLE = 3_000
"""Steps of the pulling walk for each pull."""


def generate(height: int, width: int, most_boxes: int, seed: int) -> tuple[Grid, bool]:
    """A room of at most `height` x `width` cells with at most `most_boxes` boxes.

    Returns:
        The room at its own size, and whether one was found that a short search can solve.
    """
    random = np.full(1, mix(np.uint64(seed)), dtype=np.uint64)
    room = np.zeros((height, width), dtype=np.uint8)
    for _ in range(MAX_ATTEMPTS):
        rows, columns = _side(height, random), _side(width, random)
        boxes = 1 + draw(random, min(most_boxes, 1 + rows * columns // CELLS_PER_BOX))
        room, drawn = _draw(rows, columns, boxes, random)
        if not drawn:
            continue
        board, places, player = read_board(room)
        if search(board, places, player, SEARCH_WEIGHT, False, SEARCH_NODES)[0] == SOLVED:
            return room, True
    return room, False


def _side(most: int, random: Random) -> int:
    """A side of a room, walls included."""
    least = min(MIN_SIDE, most)
    return least + draw(random, min(most, MAX_SIDE) - least + 1)


@njit(cache=True, nogil=True)
def _draw(height: int, width: int, num_boxes: int, random: Random) -> tuple[Grid, bool]:
    """A room of `height` x `width` cells, and whether boxes could be pulled away in it."""
    grid = np.zeros((height, width), dtype=np.uint8)
    _carve(grid, random)
    floor = np.flatnonzero(grid.ravel() == FLOOR)
    boxes = min(num_boxes, len(floor) // 4)
    if boxes < 1:
        return grid, False
    goals = _choose_goals(grid, floor, boxes, random)
    return grid, _pull(grid, goals, random)


@njit(cache=True, nogil=True)
def _carve(grid: Grid, random: Random) -> None:
    """Halls of random size, each joined to the one before by a corridor."""
    height, width = grid.shape
    grid[:] = WALL
    halls = 1 + height * width // 80 + draw(random, 1 + height * width // 50)
    last_row, last_column = -1, -1
    for _ in range(halls):
        rows = min(2 + draw(random, 4), height - 2)
        columns = min(2 + draw(random, 5), width - 2)
        top = 1 + draw(random, height - 1 - rows)
        left = 1 + draw(random, width - 1 - columns)
        grid[top : top + rows, left : left + columns] = FLOOR
        row, column = top + draw(random, rows), left + draw(random, columns)
        if rows >= 3 and columns >= 3 and draw(random, 3) == 0:
            grid[top + 1 + draw(random, rows - 2), left + 1 + draw(random, columns - 2)] = WALL
        if last_row >= 0:
            _dig(grid, last_row, last_column, row, column, random)
        last_row, last_column = row, column


@njit(cache=True, nogil=True)
def _dig(grid: Grid, row: int, column: int, to_row: int, to_column: int, random: Random) -> None:
    """A corridor with one bend between two cells."""
    by_rows_first = draw(random, 2) == 0
    for leg in range(2):
        along_rows = by_rows_first == (leg == 0)
        while (row != to_row) if along_rows else (column != to_column):
            grid[row, column] = FLOOR
            if along_rows:
                row += 1 if to_row > row else -1
            else:
                column += 1 if to_column > column else -1
    grid[row, column] = FLOOR


@njit(cache=True, nogil=True)
def _choose_goals(grid: Grid, floor: Integers, count: int, random: Random) -> Integers:
    """Cells of the goals: half of the time the `count` cells nearest to a corner cell."""
    chosen = floor.copy()
    for i in range(len(chosen)):
        j = i + draw(random, len(chosen) - i)
        chosen[i], chosen[j] = chosen[j], chosen[i]
    if draw(random, 2) == 0:
        return chosen[:count].copy()
    width = grid.shape[1]
    centre = chosen[0]
    for cell in chosen:
        row, column = cell // width, cell % width
        beside = (grid[row - 1, column] == WALL) + (grid[row + 1, column] == WALL)
        across = (grid[row, column - 1] == WALL) + (grid[row, column + 1] == WALL)
        if beside > 0 and across > 0:
            centre = cell
            break
    distances = np.abs(chosen // width - centre // width) + np.abs(chosen % width - centre % width)
    return chosen[np.argsort(distances, kind="mergesort")][:count].copy()


@njit(cache=True, nogil=True)
def _pull(grid: Grid, goals: Integers, random: Random) -> bool:
    """Pulls boxes off the goals and draws the room; False if they cannot all be moved away."""
    width = grid.shape[1]
    cells = grid.ravel()
    is_box = np.zeros(cells.size, dtype=np.bool_)
    for goal in goals:
        is_box[goal] = True
    player = _free_cell(cells, is_box, random)
    if player < 0:
        return False
    offsets = (-width, 1, width, -1)
    wanted = PULLS_PER_BOX * len(goals)
    direction, idle = draw(random, 4), 0
    while wanted > 0 and idle < MAX_IDLE:
        if draw(random, 3) == 0:
            direction = draw(random, 4)
        ahead, behind = player + offsets[direction], player - offsets[direction]
        if cells[ahead] == WALL or is_box[ahead]:
            direction = draw(random, 4)
            idle += 1
            continue
        if is_box[behind] and draw(random, 4) > 0:
            is_box[behind], is_box[player] = False, True
            wanted, idle = wanted - 1, 0
        idle += 1
        player = ahead
    return _draw_room(grid, goals, is_box, player)


@njit(cache=True, nogil=True)
def _free_cell(cells: Grid, is_box: Flags, random: Random) -> int:
    """A random floor cell without a box, or -1."""
    for _ in range(MAX_IDLE):
        cell = draw(random, cells.size)
        if cells[cell] == FLOOR and not is_box[cell]:
            return cell
    return -1


@njit(cache=True, nogil=True)
def _draw_room(grid: Grid, goals: Integers, is_box: Flags, player: int) -> bool:
    """Writes goals, boxes and player; False if fewer than half of the boxes are off the goals."""
    cells = grid.ravel()
    off = 0
    for goal in goals:
        cells[goal] = GOAL
        off += not is_box[goal]
    if 2 * off < len(goals):
        return False
    for cell in range(cells.size):
        if is_box[cell]:
            cells[cell] = BOX_ON_GOAL if cells[cell] == GOAL else BOX
    cells[player] = PLAYER_ON_GOAL if cells[player] == GOAL else PLAYER
    return True
