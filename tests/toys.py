"""A toy world for tests of everything that is not a domain: an agent on a line, home is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.domains import Bools, Grid, Grids, GridSpec, Preset, ScalarDomain, register
from hips.errors import ConfigError

FLOOR, AGENT, HOLE = 0, 1, 2


@register("line_world")
@dataclass(frozen=True)
class LineWorld(ScalarDomain):
    """Walk to the right end of a line.

    With `holes`, some lines have a hole nobody can pass: the expert fails on them.
    """

    length: int = 8
    holes: bool = False

    def __post_init__(self) -> None:
        if not 3 <= self.length <= 60:
            raise ConfigError(f"length {self.length} is not from 3 to 60")

    @property
    def spec(self) -> GridSpec:
        return GridSpec(1, self.length, ("floor", "agent", "hole"), ("left", "right"))

    @property
    def preset(self) -> Preset:
        return Preset(horizon=3, num_codes=4, demonstrations=40)

    def step_one(self, state: Grid, action: int) -> Grid:
        here = int(np.flatnonzero(state[0] == AGENT)[0])
        there = here + (1 if action == 1 else -1)
        if 0 <= there < self.length and state[0, there] == FLOOR:
            state[0, here], state[0, there] = FLOOR, AGENT
        return state

    def is_goal(self, states: Grids) -> Bools:
        solved: Bools = states[:, 0, -1] == AGENT
        return solved

    def sample_one(self, rng: np.random.Generator) -> Grid:
        state = np.zeros((1, self.length), dtype=np.uint8)
        state[0, rng.integers(self.length - 1)] = AGENT
        if self.holes and rng.random() < 0.2 and state[0, -2] == FLOOR:
            state[0, -2] = HOLE
        return state
