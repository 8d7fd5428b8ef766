"""Maps of the travelling salesman whose tours are nearly done and end on the rim of the grid.

A tour ends once, and seldom in a corner: the learned dynamics had hardly seen it and took the last
step for one onto plain floor. With these maps the shipped model was trained further:

    python examples/rim_starts.py > rim.txt
    hips collect tsp --levels rim.txt --seed 5 --out data/tsp-rim
    hips train tsp --data data/tsp --data data/tsp-rim --start tsp --stages dynamics ...
"""

from __future__ import annotations

import numpy as np

from hips import domains
from hips.domains import Grid
from hips.domains.tsp.kernels import AGENT, CITY, FLOOR, START, VISITED
from hips.seeding import stream

COUNT = 3000
MOST_LEFT = 3


def rim_cell(size: int, rng: np.random.Generator) -> tuple[int, int]:
    """A corner or any cell of the rim, one as often as the other."""
    ends = [0, size - 1]
    if rng.random() < 0.5:
        return int(rng.choice(ends)), int(rng.choice(ends))
    row, column = int(rng.integers(size)), int(rng.choice(ends))
    return (column, row) if rng.random() < 0.5 else (row, column)


def nearly_done(grid: Grid, rng: np.random.Generator) -> bool:
    """Moves the start of a fresh map to the rim and visits nearly all cities, in place.

    False where a city stands in the way.
    """
    cells = grid.reshape(-1)
    cells[(cells == AGENT + START) | (cells == START)] = FLOOR
    row, column = rim_cell(len(grid), rng)
    left = int(rng.integers(1, MOST_LEFT + 1))
    if grid[row, column] != FLOOR:
        return False
    cities = rng.permutation(np.flatnonzero(cells == CITY))
    cells[cities[left:]] = VISITED
    cells[cities[left]] = AGENT + VISITED
    grid[row, column] = START
    return True


def main() -> None:
    """Prints the maps as `hips collect --levels` reads them."""
    domain, rng = domains.create("tsp"), stream(5, "rim")
    maps = [grid for grid in domain.sample(rng, COUNT) if nearly_done(grid, rng)]
    print("\n\n".join(domain.text(grid) for grid in maps))


if __name__ == "__main__":
    main()
