"""Random Box-World levels that are solvable by construction, with one solution chain.

Boxes and the loose key keep a ring of free cells around them (walls excepted), so the floor is
always connected and every lock can be walked to; which boxes to open is the whole puzzle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.domains.base import Bools, Grid, Grids
from hips.domains.box_world.kernels import AGENT, FIRST_COLOUR, FLOOR, GEM, WALL

Seeds = npt.NDArray[np.uint64]
Symbols = npt.NDArray[np.int64]

MAX_PLACEMENTS = 1_000
MAX_COLOURINGS = 100
MAX_SEQUENCES = 20_000
"""Partial opening orders looked at before a colouring counts as too tangled to check."""


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
def _shuffled_colours(random: Seeds, colours: int) -> Symbols:
    """All colour symbols in random order."""
    order = np.arange(FIRST_COLOUR, FIRST_COLOUR + colours)
    for index in range(colours - 1, 0, -1):
        other = _below(random, index + 1)
        order[index], order[other] = order[other], order[index]
    return order


@njit(cache=True, nogil=True)
def count_solutions(locks: Symbols, contents: Symbols, first_key: int) -> int:
    """Orders of opening boxes that end with the gem: 0, 1, or 2 for "more, or too many to say"."""
    stack = [(np.int64(first_key), np.int64(0))]
    solutions = looked_at = 0
    while len(stack) > 0:
        held, opened = stack.pop()
        looked_at += 1
        if looked_at > MAX_SEQUENCES:
            return 2
        for box in range(len(locks)):
            if locks[box] != held or (opened >> box) & 1:
                continue
            if contents[box] == GEM:
                solutions += 1
                if solutions > 1:
                    return 2
            else:
                stack.append((contents[box], opened | (np.int64(1) << box)))
    return solutions


@njit(cache=True, nogil=True)
def _colour_boxes(
    random: Seeds,
    goal_length: int,
    distractors: int,
    distractor_length: int,
    colours: int,
    tangled: bool,
) -> tuple[Symbols, Symbols]:
    """Locks and contents: first the chain to the gem, then the distractor branches.

    A branch hangs off a random key of the chain: its first lock takes that key. Plain branches
    have colours of their own. Tangled ones share a few colours and reuse those of chain keys
    that are spent by then, so that every dead end looks like a way on.
    """
    order = _shuffled_colours(random, colours)
    boxes = goal_length + distractors * distractor_length
    locks = np.empty(boxes, dtype=np.int64)
    contents = np.empty(boxes, dtype=np.int64)
    locks[:goal_length] = order[:goal_length]
    contents[: goal_length - 1] = order[1:goal_length]
    contents[goal_length - 1] = GEM
    box = goal_length
    for branch in range(distractors):
        root = _below(random, goal_length)
        key = order[root]
        for position in range(distractor_length):
            locks[box] = key
            if not tangled:
                key = order[goal_length + branch * distractor_length + position]
            while tangled and key == locks[box]:
                if root > 0 and _below(random, 2) == 0:
                    key = order[_below(random, root)]
                else:
                    key = order[goal_length + _below(random, distractor_length + 1)]
            contents[box] = key
            box += 1
    return locks, contents


@njit(cache=True, nogil=True)
def _free_cell(random: Seeds, free: npt.NDArray[np.bool_], length: int) -> tuple[int, int]:
    """A random cell from which `length` cells to the right are free, or (-1, -1)."""
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
    """Draws the level into `grid`; False if it ran out of room on the way."""
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
    tangled: bool,
) -> tuple[Grids, Bools]:
    """One level per seed `[B, size + 2, size + 2]`, and which of them found room `[B]`."""
    levels = np.zeros((len(seeds), size + 2, size + 2), dtype=np.uint8)
    placed = np.zeros(len(seeds), dtype=np.bool_)
    for index in range(len(seeds)):
        random = seeds[index : index + 1].copy()
        for attempt in range(MAX_COLOURINGS + 1):
            # The plain colouring has one solution for certain; it is the way out of bad luck.
            locks, contents = _colour_boxes(
                random,
                goal_length,
                distractors,
                distractor_length,
                colours,
                tangled and attempt < MAX_COLOURINGS,
            )
            if count_solutions(locks, contents, locks[0]) == 1:
                break
        for _ in range(MAX_PLACEMENTS):
            if _place(random, levels[index], locks, contents):
                placed[index] = True
                break
    return levels, placed
