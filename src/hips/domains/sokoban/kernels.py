"""The rules of Sokoban as compiled loops over batches of grids `[B, H, W]`."""

from __future__ import annotations

import numpy as np
from numba import njit

from hips.arrays import Actions, Bools, Grids, Scores

WALL, FLOOR, GOAL, BOX, BOX_ON_GOAL, PLAYER, PLAYER_ON_GOAL = range(7)
SYMBOLS = ("wall", "floor", "goal", "box", "box_on_goal", "player", "player_on_goal")
ACTIONS = ("up", "right", "down", "left")
ROW_STEP = (-1, 0, 1, 0)
COLUMN_STEP = (0, 1, 0, -1)

# Scores are clipped to this range, so that gains are finite; NaN counts as lowest.
LOWEST, HIGHEST = np.float32(-1e30), np.float32(1e30)


@njit(cache=True, nogil=True)
def is_goal_cell(cell: int) -> bool:
    """Whether a symbol shows a goal square, covered or not."""
    return cell in (GOAL, BOX_ON_GOAL, PLAYER_ON_GOAL)


@njit(cache=True, nogil=True)
def is_box(cell: int) -> bool:
    """Whether a symbol shows a box."""
    return cell in (BOX, BOX_ON_GOAL)


@njit(cache=True, nogil=True)
def step(states: Grids, actions: Actions) -> Grids:
    """T(s, a): the player walks, or pushes one box if the square behind it is free."""
    result = states.copy()
    count, height, width = states.shape
    size = height * width
    cells = result.reshape(count, size)
    for b in range(count):
        at = 0
        while at < size and cells[b, at] < PLAYER:
            at += 1
        action = actions[b]
        if at == size or action < 0 or action > 3:
            continue
        row, column = at // width, at % width
        row_step, column_step = ROW_STEP[action], COLUMN_STEP[action]
        if not (0 <= row + row_step < height and 0 <= column + column_step < width):
            continue
        offset = row_step * width + column_step
        ahead = cells[b, at + offset]
        if is_box(ahead):
            beyond_row, beyond_column = row + 2 * row_step, column + 2 * column_step
            if not (0 <= beyond_row < height and 0 <= beyond_column < width):
                continue
            beyond = cells[b, at + 2 * offset]
            if beyond != FLOOR and beyond != GOAL:
                continue
            cells[b, at + 2 * offset] = beyond + 2
            ahead -= 2
        elif ahead != FLOOR and ahead != GOAL:
            continue
        cells[b, at + offset] = ahead + 4
        cells[b, at] -= 4
    return result


@njit(cache=True, nogil=True)
def is_goal(states: Grids) -> Bools:
    """Which grids have no box off a goal."""
    count, height, width = states.shape
    solved = np.ones(count, dtype=np.bool_)
    cells = np.ascontiguousarray(states).reshape(count, height * width)
    for b in range(count):
        for i in range(height * width):
            if cells[b, i] == BOX:
                solved[b] = False
                break
    return solved


@njit(cache=True, nogil=True)
def is_legal(states: Grids, origins: Grids) -> Bools:
    """Which grids have their origin's walls, goals and number of boxes, and one player."""
    count, height, width = states.shape
    legal = np.ones(count, dtype=np.bool_)
    for b in range(count):
        players, boxes = 0, 0
        for r in range(height):
            for c in range(width):
                cell, origin = states[b, r, c], origins[b, r, c]
                if cell > PLAYER_ON_GOAL or (cell == WALL) != (origin == WALL):
                    legal[b] = False
                if is_goal_cell(cell) != is_goal_cell(origin):
                    legal[b] = False
                players += cell >= PLAYER
                boxes += is_box(cell)
                boxes -= is_box(origin)
        if players != 1 or boxes != 0:
            legal[b] = False
    return legal


@njit(cache=True, nogil=True)
def _finite(score: np.float32) -> np.float32:
    return min(score, HIGHEST) if score > LOWEST else LOWEST


@njit(cache=True, nogil=True)
def decode(scores: Scores, origins: Grids) -> Grids:
    """The likeliest grids with the origins' walls, goals and box counts, and one player.

    With the empty room as the baseline, a box at cell c gains `a[c] = score(box) - score(empty)`
    and the player `b[c]`. The best legal grid takes the player cell p that maximises the sum of
    `b[p]` and the n largest `a[c]`, c ≠ p, so only the n + 1 largest gains of boxes matter.
    """
    count, height, width, _ = scores.shape
    result = np.empty((count, height, width), dtype=np.uint8)
    size = height * width
    box_gain = np.empty(size, dtype=np.float32)
    player_gain = np.empty(size, dtype=np.float32)
    best = np.empty(size + 1, dtype=np.int64)
    for b in range(count):
        num_boxes = _gains(scores[b], origins[b], box_gain, player_gain)
        num_best = _largest(box_gain, origins[b], num_boxes + 1, best)
        player = _player_cell(box_gain, player_gain, origins[b], best, num_best, num_boxes)
        for i in range(size):
            cell = origins[b, i // width, i % width]
            empty = WALL if cell == WALL else (GOAL if is_goal_cell(cell) else FLOOR)
            result[b, i // width, i % width] = empty
        placed = 0
        for k in range(num_best):
            if placed < num_boxes and best[k] != player:
                result[b, best[k] // width, best[k] % width] += 2
                placed += 1
        if player >= 0:
            result[b, player // width, player % width] += 4
    return result


@njit(cache=True, nogil=True)
def _gains(scores: Scores, origin: Grids, box_gain: Scores, player_gain: Scores) -> int:
    """Fills the gains of one grid and returns its number of boxes."""
    height, width = origin.shape
    num_boxes = 0
    for r in range(height):
        for c in range(width):
            cell = origin[r, c]
            num_boxes += is_box(cell)
            if cell != WALL:
                empty = GOAL if is_goal_cell(cell) else FLOOR
                base = _finite(scores[r, c, empty])
                box_gain[r * width + c] = _finite(scores[r, c, empty + 2]) - base
                player_gain[r * width + c] = _finite(scores[r, c, empty + 4]) - base
    return num_boxes


@njit(cache=True, nogil=True)
def _largest(gain: Scores, origin: Grids, wanted: int, best: Actions) -> int:
    """Writes the (at most) `wanted` non-wall cells of largest gain to `best`, largest first."""
    width = origin.shape[1]
    found = 0
    for i in range(origin.size):
        if origin[i // width, i % width] == WALL:
            continue
        k = found
        while k > 0 and gain[i] > gain[best[k - 1]]:
            if k < wanted:
                best[k] = best[k - 1]
            k -= 1
        if k < wanted:
            best[k] = i
            found = min(found + 1, wanted)
    return found


@njit(cache=True, nogil=True)
def _player_cell(
    box_gain: Scores,
    player_gain: Scores,
    origin: Grids,
    best: Actions,
    num_best: int,
    num_boxes: int,
) -> int:
    """The player's cell in the likeliest grid, -1 if there is no free cell."""
    width = origin.shape[1]
    chosen, chosen_gain = -1, 0.0
    for i in range(origin.size):
        if origin[i // width, i % width] == WALL:
            continue
        gain = float(player_gain[i])
        for k in range(min(num_boxes, num_best)):
            if best[k] == i:
                # A box must make room: it moves to the next best cell.
                if num_best > num_boxes:
                    gain += float(box_gain[best[num_boxes]]) - float(box_gain[i])
                else:
                    gain = -np.inf
        if gain > -np.inf and (chosen < 0 or gain > chosen_gain):
            chosen, chosen_gain = i, gain
    return chosen
