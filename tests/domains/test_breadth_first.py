"""The one breadth-first search: layers by distance, every state once, ways that lead there."""

from __future__ import annotations

import numpy as np
import pytest

from hips.domains import create, replay
from hips.domains.breadth_first import BreadthFirst
from hips.errors import UnsolvableError
from tests.toys import LineWorld


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
