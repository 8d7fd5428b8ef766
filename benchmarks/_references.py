"""Slow versions of the rules to measure the kernels against: plain Python and plain NumPy.

Each reads like the rule it states. The NumPy versions treat a whole batch with array expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hips.arrays import Actions, Bools, Grid, Grids

Indices: TypeAlias = npt.NDArray[np.int64]
NaiveStep: TypeAlias = Callable[[Grid, int], Grid]
BatchStep: TypeAlias = Callable[[Grids, Actions], Grids]

ROW_STEP = np.array([-1, 0, 1, 0])
COLUMN_STEP = np.array([0, 1, 0, -1])


def _find(state: Grid, wanted: Callable[[int], bool]) -> tuple[int, int]:
    for row in range(state.shape[0]):
        for column in range(state.shape[1]):
            if wanted(int(state[row, column])):
                return row, column
    raise ValueError("the grid has no agent")


def _inside(state: Grid, row: int, column: int) -> bool:
    height, width = state.shape
    return bool(0 <= row < height and 0 <= column < width)


def _move(action: int) -> tuple[int, int]:
    return int(ROW_STEP[action]), int(COLUMN_STEP[action])


# -- plain Python --------------------------------------------------------------------------------


def naive_sokoban(state: Grid, action: int) -> Grid:
    """0 wall, 1 floor, 2 goal; a box adds 2 to its square, the player 4."""
    result = state.copy()
    row, column = _find(state, lambda symbol: symbol >= 5)
    down, right = _move(action)
    to = (row + down, column + right)
    beyond = (to[0] + down, to[1] + right)
    if not _inside(state, *to) or state[to] == 0:
        return result
    if state[to] in (3, 4):
        if not _inside(state, *beyond) or state[beyond] not in (1, 2):
            return result
        result[beyond] += 2
        result[to] -= 2
    result[to] += 4
    result[row, column] -= 4
    return result


def naive_sliding_tiles(state: Grid, action: int) -> Grid:
    """The blank (0) changes places with its neighbour."""
    result = state.copy()
    row, column = _find(state, lambda symbol: symbol == 0)
    down, right = _move(action)
    if _inside(state, row + down, column + right):
        result[row, column] = state[row + down, column + right]
        result[row + down, column + right] = 0
    return result


def naive_box_world(state: Grid, action: int) -> Grid:
    """0 wall, 1 floor, 2 agent, 3 gem, then colours; what is held is shown at the top left."""
    result = state.copy()
    row, column = _find(state, lambda symbol: symbol == 2)
    down, right = _move(action)
    to = (row + down, column + right)
    height, width = state.shape
    if state[0, 0] == 3 or not (0 < to[0] < height - 1 and 0 < to[1] < width - 1):
        return result
    target, left, after = state[to], state[to[0], to[1] - 1], state[to[0], to[1] + 1]
    if target >= 4 and left >= 3:
        if target != state[0, 0]:
            return result
        result[0, 0] = left
        result[to[0], to[1] - 1] = 1
    elif target >= 3 and after < 4:
        result[0, 0] = target
    elif target != 1:
        return result
    result[to] = 2
    result[row, column] = 1
    return result


def naive_tsp(state: Grid, action: int) -> Grid:
    """0 floor, 1 city, 2 visited, 3 start; the agent adds 4."""
    result = state.copy()
    row, column = _find(state, lambda symbol: symbol >= 4)
    down, right = _move(action)
    to = (row + down, column + right)
    if _inside(state, *to):
        result[row, column] -= 4
        result[to] = 4 + (2 if state[to] == 1 else state[to])
    return result


# -- plain NumPy ---------------------------------------------------------------------------------


def _targets(agents: Bools, actions: Actions, steps: int = 1) -> tuple[Indices, Indices, Bools]:
    """Flat cells of the agents and of the cells `steps` ahead (own if outside), and inside."""
    count, height, width = agents.shape
    cells = agents.reshape(count, -1).argmax(axis=1)
    rows = cells // width + steps * ROW_STEP[actions]
    columns = cells % width + steps * COLUMN_STEP[actions]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    return cells, np.where(inside, rows * width + columns, cells), inside


def numpy_sokoban(states: Grids, actions: Actions) -> Grids:
    """Sokoban for a batch."""
    result = states.copy()
    flat, each = result.reshape(len(states), -1), np.arange(len(states))
    at, to, inside = _targets(states >= 5, actions)
    _, beyond, beyond_inside = _targets(states >= 5, actions, steps=2)
    target, behind = flat[each, to], flat[each, beyond]
    box = (target == 3) | (target == 4)
    pushes = box & beyond_inside & ((behind == 1) | (behind == 2))
    moves = inside & ((target == 1) | (target == 2) | pushes)
    flat[each[pushes], beyond[pushes]] += 2
    flat[each[pushes], to[pushes]] -= 2
    flat[each[moves], to[moves]] += 4
    flat[each[moves], at[moves]] -= 4
    return result


def numpy_sliding_tiles(states: Grids, actions: Actions) -> Grids:
    """Sliding tiles for a batch."""
    result = states.copy()
    flat, each = result.reshape(len(states), -1), np.arange(len(states))
    at, to, _ = _targets(states == 0, actions)
    flat[each, at] = flat[each, to]
    flat[each, to] = 0
    return result


def numpy_box_world(states: Grids, actions: Actions) -> Grids:
    """Box-World for a batch."""
    result = states.copy()
    width = states.shape[2]
    flat, each = result.reshape(len(states), -1), np.arange(len(states))
    at, to, _ = _targets(states == 2, actions)
    rows, columns = to // width, to % width
    inside = (rows > 0) & (rows < states.shape[1] - 1) & (columns > 0) & (columns < width - 1)
    to = np.where(inside, to, at)
    held, target = flat[:, 0].copy(), flat[each, to]
    left, after = flat[each, to - 1], flat[each, to + 1]
    lock = (target >= 4) & (left >= 3)
    running = inside & (held != 3)
    opens = running & lock & (target == held)
    takes = running & (target >= 3) & (after < 4) & ~lock
    moves = opens | takes | (running & (target == 1))
    flat[opens, 0] = left[opens]
    flat[each[opens], to[opens] - 1] = 1
    flat[takes, 0] = target[takes]
    flat[each[moves], to[moves]] = 2
    flat[each[moves], at[moves]] = 1
    return result


def numpy_tsp(states: Grids, actions: Actions) -> Grids:
    """The travelling salesman for a batch."""
    result = states.copy()
    flat, each = result.reshape(len(states), -1), np.arange(len(states))
    at, to, inside = _targets(states >= 4, actions)
    flat[each[inside], at[inside]] -= 4
    entered = flat[each, to]
    flat[each[inside], to[inside]] = 4 + np.where(entered == 1, 2, entered)[inside]
    return result


NAIVE: Mapping[str, NaiveStep] = {
    "sokoban": naive_sokoban,
    "sliding_tiles": naive_sliding_tiles,
    "box_world": naive_box_world,
    "tsp": naive_tsp,
}
BATCHED: Mapping[str, BatchStep] = {
    "sokoban": numpy_sokoban,
    "sliding_tiles": numpy_sliding_tiles,
    "box_world": numpy_box_world,
    "tsp": numpy_tsp,
}


def naive_batch(step: NaiveStep) -> Any:
    """The naive rule as a loop over a batch."""

    def run(states: Grids, actions: Actions) -> Grids:
        return np.stack([step(s, a) for s, a in zip(states, actions.tolist(), strict=True)])

    return run
