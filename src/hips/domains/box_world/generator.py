"""Random Box-World levels, solvable by construction, with one solution chain.

Boxes and the loose key have a ring of free cells around them (except at walls), so the floor is
always connected and every lock is reachable; the puzzle is only which boxes to open.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Bools, Grid, Grids
from hips.domains.box_world.kernels import AGENT, FIRST_COLOUR, FLOOR, GEM, WALL

Seeds = npt.NDArray[np.uint64]
Symbols = npt.NDArray[np.int64]

MAX_PLACEMENTS = 1_000


@njit(cache=True, nogil=True)
def _below(state: Seeds, bound: int) -> int:
    """A number in `[0, bound)`; advances the splitmix64 generator in `state[0]`."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return int(mixed % np.uint64(bound))


@njit(cache=True, nogil=True)
def _shuffle(random: Seeds, values: Symbols) -> None:
    """Shuffles `values` in place."""
    for index in range(len(values) - 1, 0, -1):
        other = _below(random, index + 1)
        values[index], values[other] = values[other], values[index]


@njit(cache=True, nogil=True)
def _colour_boxes(
    random: Seeds, goal_length: int, distractors: int, distractor_length: int, colours: int
) -> tuple[Symbols, Symbols]:
    """Locks and contents: first the chain to the gem, then the distractor branches.

    A branch starts at a random key of the chain: its first lock takes that key. Its other colours
    are drawn, afresh for each branch, from those that the chain does not use. Branches may thus
    lead into each other, which lengthens dead ends, but never back to the chain, so there is
    only one solution.
    """
    order = np.arange(FIRST_COLOUR, FIRST_COLOUR + colours)
    _shuffle(random, order)
    chain = goal_length - 1
    others = order[chain:]
    boxes = chain + distractors * distractor_length
    locks = np.empty(boxes, dtype=np.int64)
    contents = np.empty(boxes, dtype=np.int64)
    locks[:chain] = order[:chain]
    contents[: chain - 1] = order[1:chain]
    contents[chain - 1] = GEM
    for branch in range(distractors):
        first = chain + branch * distractor_length
        last = first + distractor_length
        _shuffle(random, others)
        locks[first] = order[_below(random, chain)]
        contents[first:last] = others[:distractor_length]
        locks[first + 1 : last] = contents[first : last - 1]
    return locks, contents


@njit(cache=True, nogil=True)
def _free_cell(random: Seeds, free: npt.NDArray[np.bool_], length: int) -> tuple[int, int]:
    """A random cell that starts `length` free cells to the right, or (-1, -1)."""
    seen, row, column = 0, -1, -1
    for r in range(1, free.shape[0] - 1):
        for c in range(1, free.shape[1] - length):
            if free[r, c] and free[r, c + length - 1]:
                seen += 1
                if _below(random, seen) == 0:
                    row, column = r, c
    return row, column


@njit(cache=True, nogil=True)
def _place(random: Seeds, grid: Grid, locks: Symbols, contents: Symbols) -> bool:
    """Draws the level into `grid`; False if it runs out of room."""
    grid[:] = WALL
    grid[1:-1, 1:-1] = FLOOR
    free = grid == FLOOR
    for item in range(len(locks) + 1):
        loose = item == len(locks)
        length = 1 if loose else 2
        row, column = _free_cell(random, free, length)
        if row < 0:
            return False
        grid[row, column] = locks[0] if loose else contents[item]
        if not loose:
            grid[row, column + 1] = locks[item]
        free[row - 1 : row + 2, column - 1 : column + length + 1] = False
    row, column = _free_cell(random, grid == FLOOR, 1)
    grid[row, column] = AGENT
    return True


@njit(cache=True, nogil=True)
def generate(
    seeds: Seeds,
    size: int,
    goal_length: int,
    distractors: int,
    distractor_length: int,
    colours: int,
) -> tuple[Grids, Bools]:
    """One level per seed `[B, size + 2, size + 2]`, and whether its boxes fit `[B]`."""
    levels = np.zeros((len(seeds), size + 2, size + 2), dtype=np.uint8)
    placed = np.zeros(len(seeds), dtype=np.bool_)
    for index in range(len(seeds)):
        random = seeds[index : index + 1].copy()
        locks, contents = _colour_boxes(
            random, goal_length, distractors, distractor_length, colours
        )
        for _ in range(MAX_PLACEMENTS):
            if _place(random, levels[index], locks, contents):
                placed[index] = True
                break
    return levels, placed
