"""The one breadth-first search: layers by distance, every state once, ways that lead there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hips.domains import Bools, Grid, Grids, GridSpec, ScalarDomain, create, replay
from hips.domains.breadth_first import BreadthFirst
from hips.errors import UnsolvableError
from tests.toys import LineWorld


@dataclass(frozen=True)
class Pit(ScalarDomain):
    """Start, pit and home; nothing leaves the pit."""

    name: ClassVar[str] = "pit"

    @property
    def spec(self) -> GridSpec:
        return GridSpec(1, 3, ("empty", "agent"), ("fall", "go"))

    def step_one(self, state: Grid, action: int) -> Grid:
        if state[0, 0]:
            state[0] = [0, 1, 0] if action == 0 else [0, 0, 1]
        return state

    def is_goal(self, states: Grids) -> Bools:
        home: Bools = states[:, 0, 2] == 1
        return home

    def sample_one(self, rng: np.random.Generator) -> Grid:
        return np.array([[1, 0, 0]], dtype=np.uint8)


def test_layers_hold_every_state_once_and_ways_lead_to_them() -> None:
    tiles = create("sliding_tiles", height=2, width=3)
    start = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    search = BreadthFirst(tiles, start)
    seen = {start.tobytes()}
    while len(search.layer):
        for state in search.layer:
            way = search.way_to(state)
            assert len(way) == search.depth
            np.testing.assert_array_equal(replay(tiles, start, way)[-1], state)
        search.advance()
        layer = {state.tobytes() for state in search.layer}
        assert len(layer) == len(search.layer)
        assert not layer & seen
        seen |= layer
    assert len(seen) == search.num_states == 360


def test_the_default_expert_finds_shortest_plans_and_proves_that_there_is_none() -> None:
    world = LineWorld()
    state = np.eye(1, 8, 3, dtype=np.uint8)
    rng = np.random.default_rng(0)
    assert world.expert(state, rng).tolist() == [1, 1, 1, 1]
    state[0, 5] = 2
    with pytest.raises(UnsolvableError):
        world.expert(state, rng)


def test_random_moves_into_a_dead_end_are_dropped() -> None:
    domain = Pit()
    start = np.array([[1, 0, 0]], dtype=np.uint8)
    for seed in range(20):
        plan = domain.expert(start, np.random.default_rng(seed), quality=0.0)
        assert domain.is_goal(replay(domain, start, plan)[-1:])[0]
