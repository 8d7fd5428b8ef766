"""What Sokoban knows about a batch of states: estimates, dead ends, and pushes as macros."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Bools, Bytes, Floats, Grids, Ints
from hips.domains.records import Macros
from hips.domains.sokoban.areas import find_closed_area
from hips.domains.sokoban.board import (
    FAR,
    Board,
    Cells,
    Flags,
    is_frozen,
    pushes_needed,
    read_board,
    read_pieces,
)
from hips.domains.sokoban.kernels import BOX, FLOOR, GOAL, PLAYER, WALL, is_goal_cell
from hips.domains.sokoban.search import walk_distances

DEAD_STEPS = 1e6
"""The estimate of a state that no plan leaves."""
BOX_ADDED, PLAYER_ADDED = BOX - FLOOR, PLAYER - FLOOR
"""What a box and the player add to the symbol of a free cell."""

Distances = npt.NDArray[np.int32]

_GROUND = np.array([GOAL if is_goal_cell(cell) else FLOOR for cell in range(7)], dtype=np.uint8)
_GROUND[WALL] = WALL


@lru_cache(maxsize=256)
def _board(layout: bytes, height: int, width: int) -> Board:
    return read_board(np.frombuffer(layout, dtype=np.uint8).reshape(height, width))[0]


def _by_board(states: Grids) -> Iterator[tuple[Board, Ints]]:
    """The boards of a batch, each with the rows of its states."""
    if not len(states):
        return
    layouts = _GROUND[states]
    if (layouts == layouts[0]).all():
        yield _board(layouts[0].tobytes(), *states.shape[1:]), np.arange(len(states))
        return
    rows: dict[bytes, list[int]] = {}
    for row, layout in enumerate(layouts):
        rows.setdefault(layout.tobytes(), []).append(row)
    for layout, of_board in rows.items():
        yield _board(layout, *states.shape[1:]), np.array(of_board, dtype=np.int64)


def estimate(states: Grids) -> Floats:
    """Pushes of the cheapest assignment of boxes to goals, and the walk to the nearest of them."""
    steps = np.zeros(len(states))
    for board, rows in _by_board(states):
        _estimate(board, states, rows, steps)
    return steps


def is_dead(states: Grids) -> Bools:
    """Which states have a box that can reach no goal, or boxes that block each other for good."""
    dead = np.zeros(len(states), dtype=np.bool_)
    for board, rows in _by_board(states):
        _find_dead(board, states, rows, dead)
    return dead


def pushes(states: Grids) -> Macros:
    """Every push that the player can walk to, except fatal ones and those that can wait.

    If boxes enclose an area that the player cannot enter, and no box of the enclosure can be pushed
    out of it, then the pushes of its boxes come first: they do not depend on any other.

    After the push the player walks to the first cell, in reading order, that it can reach: states
    that differ only in where the player stands in its region become equal.
    """
    found = [_pushes(board, states, rows) for board, rows in _by_board(states)]
    if len(found) == 1:
        return Macros(*found[0])
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return Macros(none, np.zeros((0, 1), dtype=np.uint8), none, states)
    longest = max(actions.shape[1] for _, actions, _, _ in found)
    padded = [np.pad(a, ((0, 0), (0, longest - a.shape[1]))) for _, a, _, _ in found]
    parents, lengths, ends = (np.concatenate([one[i] for one in found]) for i in (0, 2, 3))
    order = np.argsort(parents, kind="stable")
    return Macros(parents[order], np.concatenate(padded)[order], lengths[order], ends[order])


@njit(cache=True, nogil=True)
def _estimate(board: Board, states: Grids, rows: Ints, steps: Floats) -> None:
    for row in rows:
        boxes, player = read_pieces(states[row])
        needed = pushes_needed(board, boxes) if len(boxes) <= len(board.goals) else FAR
        if needed >= FAR or player < 0:
            steps[row] = DEAD_STEPS
        elif needed > 0:
            steps[row] = needed + _nearest_box(board, boxes, player) - 1


@njit(cache=True, nogil=True)
def _nearest_box(board: Board, boxes: Cells, player: int) -> int:
    """Distance of the player from the nearest box off the goals, ignoring obstacles."""
    nearest = FAR
    for box in boxes:
        if board.nearest[box] > 0:
            rows = abs(box // board.width - player // board.width)
            columns = abs(box % board.width - player % board.width)
            nearest = min(nearest, rows + columns)
    return int(nearest)


@njit(cache=True, nogil=True)
def _find_dead(board: Board, states: Grids, rows: Ints, dead: Bools) -> None:
    frozen = np.zeros(board.walls.size, dtype=np.bool_)
    for row in rows:
        boxes, _ = read_pieces(states[row])
        for box in boxes:
            dead[row] |= board.dead[box]
        if not dead[row]:
            dead[row] = is_frozen(board, boxes, frozen) or pushes_needed(board, boxes) >= FAR


@njit(cache=True, nogil=True)
def _pushes(board: Board, states: Grids, rows: Ints) -> tuple[Ints, Bytes, Ints, Grids]:
    """The macros of states on one board; see `pushes`."""
    size = board.walls.size
    occupied, frozen = board.walls.copy(), np.zeros(size, dtype=np.bool_)
    reached, after = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    line, areas = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    most = 0
    for row in rows:
        most += 4 * len(read_pieces(states[row])[0])
    parents, lengths = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    actions = np.zeros((most, 2 * size + 1), dtype=np.uint8)
    ends = np.empty((most, states.shape[1], states.shape[2]), dtype=np.uint8)
    count, longest = 0, 1
    for row in rows:
        boxes, player = read_pieces(states[row])
        if player < 0:
            continue
        _occupy(occupied, boxes, True)
        walk_distances(board, occupied, player, reached, line)
        first = find_closed_area(board, occupied, boxes, reached, areas, line)
        for index in range(len(boxes)):
            if first >= 0 and areas[boxes[index]] != first:
                continue
            for direction in range(4):
                box, offset = boxes[index], board.offsets[direction]
                to = box + offset
                if reached[box - offset] < 0 or occupied[to] or board.dead[to]:
                    continue
                boxes[index] = to
                if not is_frozen(board, boxes, frozen):
                    length = _write_walk(board, reached, box - offset, actions[count], 0)
                    actions[count, length] = direction
                    occupied[box], occupied[to] = False, True
                    walk_distances(board, occupied, box, after, line)
                    occupied[box], occupied[to] = True, False
                    end = _first(after)
                    lengths[count] = _write_walk(board, after, end, actions[count], length + 1)
                    longest = max(longest, lengths[count])
                    ends[count] = states[row]
                    _change(board, ends[count], player, -PLAYER_ADDED)
                    _change(board, ends[count], box, -BOX_ADDED)
                    _change(board, ends[count], to, BOX_ADDED)
                    _change(board, ends[count], end, PLAYER_ADDED)
                    parents[count] = row
                    count += 1
                boxes[index] = box
        _occupy(occupied, boxes, False)
    return parents[:count], actions[:count, :longest].copy(), lengths[:count], ends[:count]


@njit(cache=True, nogil=True)
def _change(board: Board, grid: Grids, cell: int, by: int) -> None:
    """Adds to the symbol at a cell of the padded board."""
    row, column = cell // board.width - 1, cell % board.width - 1
    grid[row, column] = np.uint8(grid[row, column] + by)


@njit(cache=True, nogil=True)
def _occupy(occupied: Flags, boxes: Cells, value: bool) -> None:
    for box in boxes:
        occupied[box] = value


@njit(cache=True, nogil=True)
def _first(reached: Distances) -> int:
    """The first reachable cell in reading order."""
    cell = 0
    while reached[cell] < 0:
        cell += 1
    return cell


@njit(cache=True, nogil=True)
def _write_walk(board: Board, reached: Distances, to: int, actions: Bytes, start: int) -> int:
    """Writes a shortest walk to `to` into `actions[start:]`; returns the index after it."""
    end = int(start + reached[to])
    while reached[to] > 0:
        for action in range(4):
            before = to - board.offsets[action]
            if reached[before] == reached[to] - 1:
                actions[start + reached[before]] = action
                to = before
                break
    return end
