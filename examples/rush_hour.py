"""Rush Hour: slide vehicles along their lanes until the red car reaches the exit.

The expert is the default one, breadth-first search, so that there is little to write. Check it and
train it with

    python examples/rush_hour.py
    hips train rush_hour --plugin examples/rush_hour.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.domains import (
    Actions,
    Bools,
    Domain,
    Grid,
    Grids,
    GridSpec,
    check_domain,
    register,
)

EMPTY, RED = 0, 1
RED_BACK, RED_FORTH = 0, 1
LANE = 2
"""The row of the red car; the exit is at its right end."""
TRUCKS = 0.3
"""Share of vehicles that are three cells long instead of two."""
WALK = 300


@register("rush_hour")
@dataclass(frozen=True)
class RushHour(Domain):
    """Rush Hour on `size` × `size` cells with `vehicles` vehicles, the red car among them."""

    size: int = 6
    vehicles: int = 10

    @property
    def spec(self) -> GridSpec:
        """Every vehicle has a symbol and two actions: towards the first cell, and away from it."""
        names = ("red", *(f"v{number}" for number in range(2, self.vehicles + 1)))
        moves = tuple(f"{name}_{way}" for name in names for way in ("back", "forth"))
        return GridSpec(self.size, self.size, symbols=("empty", *names), actions=moves)

    def step(self, states: Grids, actions: Actions) -> Grids:
        """Slides a vehicle by one cell if the next one is empty."""
        forth = actions % 2 == 1
        here = states == (actions // 2 + RED)[:, None, None]
        first_row, last_row = _ends(here.any(axis=2))
        first_column, last_column = _ends(here.any(axis=1))
        across = first_row == last_row
        down, right = np.where(across, 0, 1), np.where(across, 1, 0)
        row = np.where(forth, last_row + down, first_row - down)
        column = np.where(forth, last_column + right, first_column - right)
        inside = (np.minimum(row, column) >= 0) & (np.maximum(row, column) < self.size)
        everyone = np.arange(len(states))
        free = states[everyone, row.clip(0, self.size - 1), column.clip(0, self.size - 1)] == EMPTY
        moving = np.flatnonzero(inside & free & here.any(axis=(1, 2)))
        after = states.copy()
        after[moving, row[moving], column[moving]] = (actions[moving] // 2 + RED).astype(np.uint8)
        left_row = np.where(forth, first_row, last_row)[moving]
        left_column = np.where(forth, first_column, last_column)[moving]
        after[moving, left_row, left_column] = EMPTY
        return after

    def is_goal(self, states: Grids) -> Bools:
        """The red car is at the exit."""
        return np.asarray(states[:, LANE, -1] == RED)

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        """Every vehicle keeps its length and its lane."""
        symbols = np.arange(1, self.vehicles + 1)[:, None, None, None]
        now, before = states == symbols, origins == symbols
        lanes = [(x.any(axis=3), x.any(axis=2)) for x in (now, before)]
        rows = (lanes[0][0] == lanes[1][0]).all(axis=2)
        columns = (lanes[0][1] == lanes[1][1]).all(axis=2)
        lengths = now.sum(axis=(2, 3)) == before.sum(axis=(2, 3))
        return np.asarray(((rows | columns) & lengths).all(axis=0))

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Random traffic around the red car at the exit, after many moves that let it only back."""
        states = np.stack([self._traffic(rng) for _ in range(count)]) if count else self._none()
        for _ in range(WALK):
            actions = rng.integers(self.spec.num_actions, size=count)
            states = self.step(states, np.where(actions == RED_FORTH, RED_BACK, actions))
        for solved in np.flatnonzero(self.is_goal(states)):
            states[solved] = self.sample(rng, 1)[0]
        return states

    def _none(self) -> Grids:
        return np.zeros((0, *self.spec.shape), dtype=np.uint8)

    def _traffic(self, rng: np.random.Generator) -> Grid:
        """Vehicles in random places; those that find none are left out."""
        grid = np.zeros(self.spec.shape, dtype=np.uint8)
        grid[LANE, -2:] = RED
        for vehicle in range(RED + 1, self.vehicles + 1):
            for _ in range(20):
                length = 3 if rng.random() < TRUCKS else 2
                row, column = rng.integers(self.size), rng.integers(self.size - length + 1)
                view = grid if rng.random() < 0.5 else grid.T
                cells = view[row, column : column + length]
                in_lane = view is grid and row == LANE
                if not cells.any() and not in_lane:
                    cells[:] = vehicle
                    break
        return grid


def _ends(lines: Bools) -> tuple[Actions, Actions]:
    """The first and the last line `[B]` that a vehicle is in, given which `[B, size]` it is in."""
    return lines.argmax(axis=1), lines.shape[1] - 1 - lines[:, ::-1].argmax(axis=1)


if __name__ == "__main__":
    check_domain(RushHour())
