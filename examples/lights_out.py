"""A fifth domain in one file: Lights Out.

Pressing a lamp flips it and its neighbours; the goal is darkness. Check it and use it with

    python examples/lights_out.py
    hips sample lights_out --plugin examples/lights_out.py --count 3
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.domains import Bools, Grid, Grids, GridSpec, Preset, ScalarDomain, check_domain, register


@register("lights_out")
@dataclass(frozen=True)
class LightsOut(ScalarDomain):
    """Lights Out on `size` × `size` lamps; action `press_i_j` flips a plus-shaped patch."""

    size: int = 3

    @property
    def spec(self) -> GridSpec:
        """One action per lamp."""
        presses = tuple(f"press_{i}_{j}" for i in range(self.size) for j in range(self.size))
        return GridSpec(self.size, self.size, symbols=("dark", "lit"), actions=presses)

    @property
    def preset(self) -> Preset:
        """Subgoals at most four presses away."""
        return Preset(horizon=4, num_codes=16, demonstrations=500)

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


if __name__ == "__main__":
    check_domain(LightsOut())
