"""Domains with more actions than a byte can name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from hips.domains import Bools, Grid, Grids, GridSpec, ScalarDomain
from hips.errors import ContractError
from hips.methods.planner import Planner
from hips.planner.components import Components
from hips.planner.generators import RepeatAction
from hips.planner.nodes import MAX_ACTIONS, NodeTable
from hips.planner.outcomes import Outcome

RIGHT = 2_900


@dataclass(frozen=True)
class Dial(ScalarDomain):
    """3,000 buttons; one of the last moves the pointer on, the others reset it."""

    name = "dial"

    @property
    def spec(self) -> GridSpec:
        digits = tuple(str(digit) for digit in range(5))
        return GridSpec(1, 1, digits, tuple(f"button_{i}" for i in range(3_000)))

    def step_one(self, state: Grid, action: int) -> Grid:
        state[0, 0] = min(4, state[0, 0] + 1) if action == RIGHT else 0
        return state

    def is_goal(self, states: Grids) -> Bools:
        solved: Bools = states[:, 0, 0] == 4
        return solved

    def sample_one(self, rng: np.random.Generator) -> Grid:
        return np.zeros((1, 1), dtype=np.uint8)


def test_thousands_of_actions_are_searched_and_logged() -> None:
    domain = Dial()
    plain = Planner(domain).solve([[1]])
    jumps = Planner(domain, own=Components(generator=RepeatAction(domain))).solve([[1]])
    for result in (plain, jumps):
        assert result.outcome is Outcome.SOLVED
        assert result.plan == (f"button_{RIGHT}",) * 3


def test_more_actions_than_two_bytes_can_name_are_refused() -> None:
    with pytest.raises(ContractError, match="at most 65535 are allowed"):
        NodeTable((1, 1), 1, MAX_ACTIONS + 1)
