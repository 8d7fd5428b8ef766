"""Rooms by the published procedure: random-walk topology, then reverse play from the solution.

A random walk stamps small masks of floor into a solid room; goals with boxes on them and the
player are placed at random; a depth-first search then *pulls* boxes, so every room it visits is
solvable by pushing. Rooms with every box off the goals are scored by (changes of the pulled
box) x (total distance of the boxes from their goals), and the best one is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Grid
from hips.domains.sokoban.kernels import (
    BOX,
    BOX_ON_GOAL,
    COLUMN_STEP,
    FLOOR,
    GOAL,
    PLAYER,
    PLAYER_ON_GOAL,
    ROW_STEP,
    WALL,
)

MAX_ATTEMPTS = 4000
"""Rooms tried before a size counts as too small for its boxes."""
MAX_DEPTH = 300
MAX_VISITED = 8000
TABLE_SIZE = 1 << 14
TURN_PROBABILITY = 0.35
WALK_FACTOR = 2.2

# Floor around the walker, as (row, column) offsets: two corridors, two corners, a block.
MASKS = np.array(
    [
        [[0, -1], [0, 0], [0, 1], [0, 0]],
        [[-1, 0], [0, 0], [1, 0], [0, 0]],
        [[0, -1], [0, 0], [1, 0], [0, 0]],
        [[0, 1], [0, 0], [1, 0], [0, 0]],
        [[0, -1], [0, 0], [1, -1], [1, 0]],
    ],
    dtype=np.int64,
)

Random = npt.NDArray[np.uint64]  # [1], the state of a splitmix64 generator
Integers = npt.NDArray[np.int64]


class Room(NamedTuple):
    """A room during reverse play; `boxes[i]` belongs to `goals[i]`, cells are flat indices."""

    cells: npt.NDArray[np.uint8]
    goals: Integers
    boxes: Integers
    width: int


@njit(cache=True, nogil=True)
def mix(value: np.uint64) -> np.uint64:
    """The splitmix64 finaliser: a well-mixed 64-bit hash of an integer."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def draw(random: Random, bound: int) -> int:
    """A number below `bound` from a splitmix64 generator."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64(mix(random[0]) >> np.uint64(11))) % bound


@njit(cache=True, nogil=True)
def generate(height: int, width: int, num_boxes: int, seed: int) -> tuple[Grid, bool]:
    """A solvable room with no box on a goal, and whether one was found."""
    random = np.full(1, mix(np.uint64(seed)), dtype=np.uint64)
    table = np.zeros(TABLE_SIZE, dtype=np.uint64)
    grid = np.zeros((height, width), dtype=np.uint8)
    for _ in range(MAX_ATTEMPTS):
        _carve(grid, random)
        floor = np.flatnonzero(grid.ravel() == FLOOR)
        if len(floor) < 2 * num_boxes + 1:
            continue
        for i in range(num_boxes + 1):
            j = i + draw(random, len(floor) - i)
            floor[i], floor[j] = floor[j], floor[i]
        boxes = floor[1 : num_boxes + 1].copy()
        room = Room(grid.ravel(), boxes.copy(), boxes, width)
        table[:] = 0
        score, player, placed = _reverse_play(room, floor[0], random, table)
        if score > 0:
            _draw_room(room, player, placed)
            return grid, True
    return grid, False


@njit(cache=True, nogil=True)
def _carve(grid: Grid, random: Random) -> None:
    """Stamps floor along a random walk that stays inside the outer ring of walls."""
    height, width = grid.shape
    grid[:] = WALL
    row, column = 1 + draw(random, height - 2), 1 + draw(random, width - 2)
    direction = draw(random, 4)
    for _ in range(int(WALK_FACTOR * (height + width))):
        if draw(random, 1 << 20) < TURN_PROBABILITY * (1 << 20):
            direction = draw(random, 4)
        row = min(max(row + ROW_STEP[direction], 1), height - 2)
        column = min(max(column + COLUMN_STEP[direction], 1), width - 2)
        mask = draw(random, len(MASKS))
        for i in range(MASKS.shape[1]):
            r, c = row + MASKS[mask, i, 0], column + MASKS[mask, i, 1]
            if 0 < r < height - 1 and 0 < c < width - 1:
                grid[r, c] = FLOOR


@njit(cache=True, nogil=True)
def _draw_room(room: Room, player: int, boxes: Integers) -> None:
    """Writes goals, boxes and the player into the cells of a room of walls and floor."""
    for i in range(room.cells.size):
        if room.cells[i] != WALL:
            room.cells[i] = FLOOR
    for goal in room.goals:
        room.cells[goal] = GOAL
    for box in boxes:
        room.cells[box] = BOX_ON_GOAL if room.cells[box] == GOAL else BOX
    room.cells[player] = PLAYER_ON_GOAL if room.cells[player] == GOAL else PLAYER


@njit(cache=True, nogil=True)
def _is_new(room: Room, player: int, table: Random) -> bool:
    """Adds (player, boxes) to the table of visited positions; False if already there."""
    key = mix(np.uint64(player + 1))
    for box in room.boxes:
        key += mix(np.uint64(box + 1001))
    key |= np.uint64(1)  # 0 marks an empty slot
    mask = np.uint64(TABLE_SIZE - 1)
    slot = (key >> np.uint64(20)) & mask
    while table[slot] != 0:
        if table[slot] == key:
            return False
        slot = (slot + np.uint64(1)) & mask
    table[slot] = key
    return True


@njit(cache=True, nogil=True)
def _score(room: Room, swaps: int) -> int:
    """Box swaps x total box displacement; 0 while any box is on a goal."""
    distance = 0
    for i in range(len(room.boxes)):
        box, goal = room.boxes[i], room.goals[i]
        for other in room.goals:
            if box == other:
                return 0
        distance += abs(box // room.width - goal // room.width)
        distance += abs(box % room.width - goal % room.width)
    return swaps * distance


@njit(cache=True, nogil=True)
def _box_at(room: Room, cell: int) -> int:
    for i in range(len(room.boxes)):
        if room.boxes[i] == cell:
            return i
    return -1


@njit(cache=True, nogil=True)
def _reverse_play(
    room: Room, player: int, random: Random, table: Random
) -> tuple[int, int, Integers]:
    """Depth-first search over walks and pulls in random order for the best room.

    Returns:
        Best score (0: none), and the player's and the boxes' cells in that room.
    """
    best_score, best_player, best_boxes = 0, player, room.boxes.copy()
    offsets = (-room.width, 1, room.width, -1)
    # One frame per depth: untried moves (a shuffled nibble list), and how to undo the last move.
    untried = np.zeros((MAX_DEPTH, 8), dtype=np.int64)
    remaining = np.zeros(MAX_DEPTH, dtype=np.int64)
    players = np.zeros(MAX_DEPTH, dtype=np.int64)
    pulled = np.full(MAX_DEPTH, -1, dtype=np.int64)
    pulled_from = np.zeros(MAX_DEPTH, dtype=np.int64)
    swaps = np.zeros(MAX_DEPTH, dtype=np.int64)
    last_box = np.full(MAX_DEPTH, -1, dtype=np.int64)
    depth, visited = 0, 1
    players[0] = player
    _is_new(room, player, table)
    _shuffle(untried[0], random)
    remaining[0] = 8
    while depth >= 0 and visited < MAX_VISITED:
        if remaining[depth] == 0 or depth == MAX_DEPTH - 1:
            if pulled[depth] >= 0:
                room.boxes[pulled[depth]] = pulled_from[depth]
            depth -= 1
            continue
        remaining[depth] -= 1
        move = untried[depth, remaining[depth]]
        here, offset = players[depth], offsets[move % 4]
        if room.cells[here + offset] == WALL or _box_at(room, here + offset) >= 0:
            continue
        box = _box_at(room, here - offset) if move >= 4 else -1
        if move >= 4 and box < 0:
            continue
        if box >= 0:
            room.boxes[box] = here
        if not _is_new(room, here + offset, table):
            if box >= 0:
                room.boxes[box] = here - offset
            continue
        visited += 1
        swaps[depth + 1] = swaps[depth] + (1 if box >= 0 and box != last_box[depth] else 0)
        last_box[depth + 1] = box if box >= 0 else last_box[depth]
        depth += 1
        players[depth], pulled[depth], pulled_from[depth] = here + offset, box, here - offset
        _shuffle(untried[depth], random)
        remaining[depth] = 8
        score = _score(room, swaps[depth]) if box >= 0 else 0
        if score > best_score:
            best_score, best_player = score, here + offset
            best_boxes[:] = room.boxes
    return best_score, best_player, best_boxes


@njit(cache=True, nogil=True)
def _shuffle(moves: Integers, random: Random) -> None:
    """A random order of the eight reverse moves: 0-3 walk, 4-7 pull."""
    for i in range(8):
        moves[i] = i
    for i in range(7):
        j = i + draw(random, 8 - i)
        moves[i], moves[j] = moves[j], moves[i]
