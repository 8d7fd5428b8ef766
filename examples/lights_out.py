"""A fifth domain in one file: Lights Out.

Pressing a lamp flips it and its neighbours; the goal is darkness. The expert does what people do:
it chases the lights down row by row. Check it, use it and train it with

    python examples/lights_out.py
    hips sample lights_out --plugin examples/lights_out.py --count 3
    hips train lights_out --plugin examples/lights_out.py --set size=5
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from hips.domains import (
    Actions,
    Bools,
    Grid,
    Grids,
    GridSpec,
    ScalarDomain,
    check_domain,
    register,
)
from hips.errors import ExpertError


@register("lights_out")
@dataclass(frozen=True)
class LightsOut(ScalarDomain):
    """Switch all lamps off; pressing a lamp also flips its neighbours."""

    size: int = 3

    @property
    def spec(self) -> GridSpec:
        """One action per lamp."""
        presses = tuple(f"press_{i}_{j}" for i in range(self.size) for j in range(self.size))
        return GridSpec(self.size, self.size, symbols=("dark", "lit"), actions=presses)

    def step_one(self, state: Grid, action: int) -> Grid:
        """Flips the lamps at distance 0 or 1."""
        row, column = divmod(action, self.size)
        rows, columns = np.indices(state.shape)
        return state ^ (abs(rows - row) + abs(columns - column) <= 1).astype(np.uint8)

    def is_goal(self, states: Grids) -> Bools:
        """All lamps are dark."""
        return np.asarray(~states.any(axis=(1, 2)))

    def sample_one(self, rng: np.random.Generator) -> Grid:
        """Random presses from darkness; pressing them again is a solution."""
        state = np.zeros((self.size, self.size), dtype=np.uint8)
        for action in rng.integers(self.size**2, size=self.size**2):
            state = self.step_one(state, int(action))
        return state

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        """Chases the lights down; what is left in the last row says how to begin again.

        Below quality 1, up to ten random presses come first.
        """
        plan = [int(press) for press in rng.integers(self.size**2, size=round(10 * (1 - quality)))]
        for press in plan:
            state = self.step_one(state, press)
        presses, rest = chase(self, state)
        beginnings = first_rows(self.size)
        if rest not in beginnings:
            raise ExpertError("no presses turn these lamps dark")
        plan += presses
        if any(rest):
            dark = np.zeros_like(state)
            dark[-1] = rest
            for press in beginnings[rest]:
                dark = self.step_one(dark, press)
            plan += [*beginnings[rest], *chase(self, dark)[0]]
        return np.array(plan, dtype=np.int64)


def chase(lamps: LightsOut, state: Grid) -> tuple[list[int], tuple[int, ...]]:
    """Presses below every lit lamp, from the first row on; also the lamps left in the last row."""
    presses = []
    for row in range(1, lamps.size):
        for column in range(lamps.size):
            if state[row - 1, column]:
                presses.append(row * lamps.size + column)
                state = lamps.step_one(state, presses[-1])
    return presses, tuple(int(lamp) for lamp in state[-1])


@cache
def first_rows(size: int) -> dict[tuple[int, ...], list[int]]:
    """Presses in the first row after which chasing ends dark, by the lamps left in the last row."""
    lamps, found = LightsOut(size), dict[tuple[int, ...], list[int]]()
    for chosen in sorted(product((0, 1), repeat=size), key=sum):
        presses = [column for column in range(size) if chosen[column]]
        state = np.zeros((size, size), dtype=np.uint8)
        for press in presses:
            state = lamps.step_one(state, press)
        found.setdefault(chase(lamps, state)[1], presses)
    return found


if __name__ == "__main__":
    check_domain(LightsOut())
