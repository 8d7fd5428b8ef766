"""A solver that always terminates: it places tiles for good, one or two at a time."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from hips.domains.sliding_tiles.kernels import COLUMN_STEP, ROW_STEP, Cells, find_blank

NOBODY = -1


def groups(height: int, width: int) -> list[tuple[int, int]]:
    """Tiles in the order of placement, as pairs; a single tile is paired with `NOBODY`.

    Rows are filled from the bottom while three or more remain, then columns from the right; the
    last two tiles of a line are placed together. The last 2x2 square completes the goal.
    """
    order: list[tuple[int, int]] = []
    for row in range(height - 1, 1, -1):
        tiles = [row * width + column for column in range(width - 1, -1, -1)]
        order += [(tile, NOBODY) for tile in tiles[:-2]]
        order.append((tiles[-2], tiles[-1]))
    order += [(width + column, column) for column in range(width - 1, 1, -1)]
    # With two tiles and the blank at home, an even permutation leaves the third no choice.
    order.append((width, width + 1))
    return order


def construct(start: Cells, height: int, width: int) -> npt.NDArray[np.int64]:
    """Actions from a solvable flat grid to the goal, line by line."""
    cells = start.copy()
    locked = np.zeros(len(cells), dtype=np.bool_)
    parts = []
    order = groups(height, width)
    for first, second in order:
        last = (first, second) == order[-1]
        parts.append(place(cells, locked, first, second, last, height, width))
    return np.concatenate(parts)


@numba.njit(cache=True, nogil=True)
def place(
    cells: Cells,
    locked: npt.NDArray[np.bool_],
    first: int,
    second: int,
    blank_home: bool,
    height: int,
    width: int,
) -> npt.NDArray[np.int64]:
    """Moves one or two tiles home by a shortest path that leaves `locked` cells alone.

    Searches breadth-first over the cells of the blank and the tiles; updates `cells` and
    `locked`. With `blank_home` the blank must also end in cell 0.
    """
    size = len(cells)
    radix = size + 1
    at = np.full(3, size, dtype=np.int64)
    for cell in range(size):
        if cells[cell] == first:
            at[1] = cell
        elif cells[cell] == second:
            at[2] = cell
    at[0] = find_blank(cells)
    home_second = size if second < 0 else second
    parents = np.full(radix**3, -1, dtype=np.int32)
    moves = np.zeros(radix**3, dtype=np.int8)
    queue = np.empty(radix**3, dtype=np.int32)
    root = (at[0] * radix + at[1]) * radix + at[2]
    queue[0], parents[root] = root, root
    head, tail, goal = 0, 1, -1
    while head < tail:
        key = np.int64(queue[head])
        head += 1
        blank, one, two = key // (radix * radix), key // radix % radix, key % radix
        if one == first and two == home_second and (blank == 0 or not blank_home):
            goal = int(key)
            break
        for action in range(4):
            row = blank // width + ROW_STEP[action]
            column = blank % width + COLUMN_STEP[action]
            target = row * width + column
            if not (0 <= row < height and 0 <= column < width) or locked[target]:
                continue
            moved_one = blank if one == target else one
            moved_two = blank if two == target else two
            child = (target * radix + moved_one) * radix + moved_two
            if parents[child] < 0:
                parents[child], moves[child] = key, action
                queue[tail] = child
                tail += 1
    plan = _read_plan(parents, moves, root, goal)
    _apply(cells, plan, width)
    locked[first] = True
    if second >= 0:
        locked[second] = True
    return plan


@numba.njit(cache=True, nogil=True)
def _read_plan(
    parents: npt.NDArray[np.int32], moves: npt.NDArray[np.int8], root: int, goal: int
) -> npt.NDArray[np.int64]:
    length, key = 0, goal
    while key != root:
        key = parents[key]
        length += 1
    plan = np.empty(length, dtype=np.int64)
    key = goal
    for place in range(length - 1, -1, -1):
        plan[place] = moves[key]
        key = parents[key]
    return plan


@numba.njit(cache=True, nogil=True)
def _apply(cells: Cells, plan: npt.NDArray[np.int64], width: int) -> None:
    blank = find_blank(cells)
    for action in plan:
        target = blank + ROW_STEP[action] * width + COLUMN_STEP[action]
        cells[blank] = cells[target]
        cells[target] = 0
        blank = target
