"""Rotations and reflections of grids."""

from __future__ import annotations

import numpy as np
import pytest

from hips.domains._geometry import DIRECTIONS, dihedral

ORDERS = [("up", "right", "down", "left"), ("left", "down", "up", "right")]


@pytest.mark.parametrize("actions", ORDERS)
@pytest.mark.parametrize(("shape", "count"), [((4, 4), 7), ((3, 5), 3)])
def test_moves_turn_with_the_grid(
    actions: tuple[str, ...], shape: tuple[int, int], count: int
) -> None:
    symmetries = dihedral(actions, square=shape[0] == shape[1])
    grid = np.arange(shape[0] * shape[1], dtype=np.uint8).reshape(1, *shape)
    images = {symmetry.transform(grid).tobytes() for symmetry in symmetries}
    assert len(images | {grid.tobytes()}) == len(symmetries) + 1 == count + 1
    before = np.zeros((1, *shape), dtype=np.uint8)
    before[0, 1, 1] = 1
    for symmetry in symmetries:
        assert symmetry.transform(grid).shape == grid.shape
        place = np.argwhere(symmetry.transform(before)[0])[0]
        for action, name in enumerate(actions):
            after = np.zeros_like(before)
            after[0, 1 + DIRECTIONS[name][0], 1 + DIRECTIONS[name][1]] = 1
            moved = np.argwhere(symmetry.transform(after)[0])[0]
            image = actions[symmetry.actions[action]]
            assert tuple(moved - place) == DIRECTIONS[image]
