"""Sliding-tile plans, from near-optimal to wandering."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hips.domains.sliding_tiles import kernels
from hips.domains.sliding_tiles.beam import beam_search
from hips.domains.sliding_tiles.construct import construct
from hips.domains.sliding_tiles.estimates import tables
from hips.domains.sliding_tiles.kernels import Cells
from hips.errors import UnsolvableError

Plan = npt.NDArray[np.int64]
BEAM = 800
DETOURS = 2
"""At quality 0, one plan in twenty is then longer than 300 moves, as in the paper's data."""
DETOUR_STEPS = (5, 15)


def solve(cells: Cells, height: int, width: int) -> Plan:
    """A near-optimal plan from a solvable flat grid; the same grid always gives the same plan."""
    max_depth = 12 * len(cells)
    plan = beam_search(cells, width, BEAM, max_depth, tables(height, width))
    if len(plan) and plan[0] < 0:
        return construct(cells, height, width)
    return plan


def plan(cells: Cells, height: int, width: int, rng: np.random.Generator, quality: float) -> Plan:
    """Actions from a flat grid to the goal.

    Below quality 1, a share `1 - quality` of the plans is built line by line (about twice as long),
    and the blank wanders off up to `DETOURS` times, at any moment of the plan, before the rest is
    replanned: late detours show how to mend lines that were finished.

    Raises:
        UnsolvableError: the puzzle is in the half that has no solution.
    """
    if kernels.invariant(cells, width) != 0:
        raise UnsolvableError("the puzzle has the wrong parity: no moves lead to the goal")
    by_lines = rng.random() >= quality
    parts: list[Plan] = []
    for left in range(round(DETOURS * (1.0 - quality)), 0, -1):
        rest = construct(cells, height, width) if by_lines else solve(cells, height, width)
        kept = rest[: int(_next_moment(left, rng) * (len(rest) + 1))]
        cells = _follow(cells, kept, height, width)
        detour = _random_walk(cells, height, width, rng)
        cells = _follow(cells, detour, height, width)
        parts += [kept, detour]
    rest = construct(cells, height, width) if by_lines else solve(cells, height, width)
    return np.concatenate([*parts, rest])


def _next_moment(left: int, rng: np.random.Generator) -> float:
    """The first of `left` moments, uniform in [0, 1)."""
    return float(1.0 - (1.0 - rng.random()) ** (1.0 / left))


def _random_walk(cells: Cells, height: int, width: int, rng: np.random.Generator) -> Plan:
    """Random moves of the blank, none of which undoes the previous one."""
    row, column = divmod(int(kernels.find_blank(cells)), width)
    moves: list[int] = []
    for _ in range(rng.integers(*DETOUR_STEPS, endpoint=True)):
        possible = [
            (action, row + step_row, column + step_column)
            for action, (step_row, step_column) in enumerate(
                zip(kernels.ROW_STEP, kernels.COLUMN_STEP, strict=True)
            )
            if 0 <= row + step_row < height
            and 0 <= column + step_column < width
            and not (moves and action == (moves[-1] + 2) % 4)
        ]
        action, row, column = possible[rng.integers(len(possible))]
        moves.append(action)
    return np.array(moves, dtype=np.int64)


def _follow(cells: Cells, actions: Plan, height: int, width: int) -> Cells:
    state = cells[None]
    for action in actions:
        state = kernels.step(state, np.array([action]), height, width)
    followed: Cells = state[0]
    return followed
