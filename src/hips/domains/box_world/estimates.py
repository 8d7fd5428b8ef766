"""Estimated moves to the gem: boxes that the held key leaves to open, and the way to the next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Floats, Grid, Grids
from hips.domains.box_world.kernels import GEM, find_agent, is_lock, is_loose

Counts = npt.NDArray[np.int64]

LOST = 1_000
"""Boxes to open when no chain of boxes leads to the gem; a state may still be alive."""


@njit(cache=True, nogil=True)
def estimate(states: Grids, num_symbols: int) -> Floats:
    """Estimates `[B]` of grids `[B, H, W]`: half a room for every box, and the walk to the next."""
    result = np.zeros(len(states))
    for b in range(len(states)):
        state = states[b]
        if state[0, 0] == GEM:
            continue
        boxes = _boxes_to_open(state, num_symbols)
        result[b] = _nearest(state, boxes)
    return result


@njit(cache=True, nogil=True)
def _boxes_to_open(state: Grid, num_symbols: int) -> Counts:
    """Boxes from holding each symbol to holding the gem, `[symbols]`."""
    boxes = np.full(num_symbols, LOST)
    boxes[GEM] = 0
    height, width = state.shape
    for _ in range(num_symbols):
        changed = False
        for row in range(1, height - 1):
            for column in range(1, width - 1):
                if is_lock(state, row, column):
                    lock, content = state[row, column], state[row, column - 1]
                    if boxes[content] + 1 < boxes[lock]:
                        boxes[lock] = boxes[content] + 1
                        changed = True
        if not changed:
            break
    return boxes


@njit(cache=True, nogil=True)
def _nearest(state: Grid, boxes: Counts) -> float:
    """The least estimate over the treasures that can be taken next."""
    height, width = state.shape
    price = (height + width) / 4
    agent_row, agent_column = find_agent(state)
    least = LOST * price
    for row in range(1, height - 1):
        for column in range(1, width - 1):
            after = LOST
            if is_lock(state, row, column):
                if state[row, column] == state[0, 0]:
                    after = boxes[state[row, column - 1]]
            elif is_loose(state, row, column):
                after = boxes[state[row, column]]
            walk = abs(row - agent_row) + abs(column - agent_column)
            least = min(least, after * price + walk)
    return float(least)
