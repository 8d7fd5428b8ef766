"""Maps of the travelling salesman as a search meets them late: few cities left, anywhere.

A demonstrator leaves no city behind; a search does, and then stands far from it. With these maps
the shipped model was trained further:

    python examples/few_cities.py > few.txt
    hips collect tsp --levels few.txt --count 6000 --out data/tsp-few
    hips train tsp --data data/tsp --data data/tsp-few --start tsp --stages vqvae,prior ...
"""

from __future__ import annotations

import numpy as np

from hips import domains
from hips.domains import Grid
from hips.domains.tsp.kernels import AGENT, CITY, START, VISITED
from hips.seeding import stream

COUNT = 6000
MOST_LEFT = 8
AWAY_FROM_START = 0.9


def leave_few(grid: Grid, rng: np.random.Generator) -> None:
    """Visits all but a few random cities of a fresh map, in place; the last one mostly just now."""
    cells = grid.reshape(-1)
    left = int(rng.integers(1, MOST_LEFT + 1))
    cities = rng.permutation(np.flatnonzero(cells == CITY))
    cells[cities[left:]] = VISITED
    if rng.random() < AWAY_FROM_START:
        cells[cells == AGENT + START] = START
        cells[cities[left]] = AGENT + VISITED


def main() -> None:
    """Prints the maps as `hips collect --levels` reads them."""
    domain, rng = domains.create("tsp"), stream(3, "few")
    maps = domain.sample(rng, COUNT)
    for grid in maps:
        leave_few(grid, rng)
    print("\n\n".join(domain.text(grid) for grid in maps))


if __name__ == "__main__":
    main()
