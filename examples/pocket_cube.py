"""The pocket cube: 2×2×2, quarter turns, one corner held still.

A state is a table of stickers, one row per face; which cells are neighbours means nothing. Check
it and train it with

    python examples/pocket_cube.py
    hips train pocket_cube --plugin examples/pocket_cube.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

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

FACES = "ULFRBD"
NORMALS = {
    face: np.array(normal)
    for face, normal in zip(
        FACES,
        [(0, 1, 0), (-1, 0, 0), (0, 0, 1), (1, 0, 0), (0, 0, -1), (0, -1, 0)],
        strict=True,
    )
}
TURNED = "UFR"
"""Faces that turn; the corner of the other three stays in place."""
TURNS = tuple(f"{face}{direction}" for face in TURNED for direction in ("", "'"))
CORNERS = [np.array(corner) for corner in product((-1, 1), repeat=3)]
STICKERS = [(f, corner) for f in FACES for corner in CORNERS if corner @ NORMALS[f] == 1]
"""The face and the corner of every sticker, in the order of the cells."""
TABLE_DEPTH = 7


def turn(face: str, clockwise: bool) -> list[int]:
    """The cell from which each cell gets its sticker when a face turns."""
    axis = NORMALS[face]
    spin = -axis if clockwise else axis

    def moved(vector: Grid) -> tuple[int, ...]:
        return tuple(np.cross(spin, vector) + (vector @ axis) * axis)

    cells = {(f, tuple(corner)): cell for cell, (f, corner) in enumerate(STICKERS)}
    faces = {tuple(normal): f for f, normal in NORMALS.items()}
    sources = list(range(len(STICKERS)))
    for cell, (f, corner) in enumerate(STICKERS):
        if corner @ axis == 1:
            sources[cells[faces[moved(NORMALS[f])], moved(corner)]] = cell
    return sources


SOURCES = np.array([turn(name[0], name.endswith("'") is False) for name in TURNS])
SOLVED = np.repeat(np.arange(len(FACES), dtype=np.uint8), 4)
WEIGHTS = len(FACES) ** np.arange(len(STICKERS), dtype=np.int64)


@register("pocket_cube")
@dataclass(frozen=True)
class PocketCube(Domain):
    """Every face in one colour; cubes are scrambled by `turns` or `turns + 1` random turns."""

    turns: int = 50

    @property
    def spec(self) -> GridSpec:
        """One row of four stickers per face, named by its colour when solved."""
        return GridSpec(len(FACES), 4, symbols=tuple(FACES), actions=TURNS)

    def step(self, states: Grids, actions: Actions) -> Grids:
        """Moves twelve stickers."""
        cells = states.reshape(-1, len(STICKERS))
        return np.take_along_axis(cells, SOURCES[actions], axis=1).reshape(states.shape)

    def is_goal(self, states: Grids) -> Bools:
        """Every sticker is on its own face."""
        return np.asarray((states.reshape(-1, len(SOLVED)) == SOLVED).all(axis=1))

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        """There are four stickers of every colour."""
        counts = (states.reshape(-1, len(STICKERS), 1) == np.arange(len(FACES))).sum(axis=1)
        return np.asarray((counts == 4).all(axis=1))

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Scrambled cubes, half of them by one more turn: distances are even or odd."""
        states = np.tile(SOLVED.reshape(self.spec.shape), (count, 1, 1))
        for _ in range(self.turns):
            states = self.step(states, rng.integers(len(TURNS), size=count))
        once_more = np.flatnonzero(rng.random(count) < 0.5)
        actions = rng.integers(len(TURNS), size=len(once_more))
        states[once_more] = self.step(states[once_more], actions)
        solved = np.flatnonzero(self.is_goal(states))
        if len(solved):
            states[solved] = self.sample(rng, len(solved))
        return states

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        """A shortest plan after `(1 - quality) * 10` random turns."""
        prefix = rng.integers(len(TURNS), size=round(10 * (1.0 - quality)))
        for action in prefix:
            state = self.step(state[None], np.array([action]))[0]
        return np.concatenate([prefix, shortest(self, state)]).astype(np.int64)


def shortest(cube: PocketCube, state: Grid) -> Actions:
    """Breadth-first search from the state until it meets the table of states near the goal."""
    layer, plans = state[None], np.zeros((1, 0), dtype=np.int64)
    while (remaining := distances_of(layer)).min() > TABLE_DEPTH:
        layer, plans = successors(cube, layer, plans)
    best = remaining.argmin()
    state, plan = layer[best], list(plans[best])
    for left in range(remaining[best], 0, -1):
        turned = cube.step(np.repeat(state[None], len(TURNS), axis=0), np.arange(len(TURNS)))
        action = int(np.flatnonzero(distances_of(turned) == left - 1)[0])
        state = turned[action]
        plan.append(action)
    return np.array(plan, dtype=np.int64)


def distances_of(states: Grids) -> Actions:
    """Turns to the goal; `TABLE_DEPTH + 1` for all states beyond the table."""
    codes, depths = table()
    wanted = encoded(states)
    places = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    return np.where(codes[places] == wanted, depths[places], TABLE_DEPTH + 1)


def encoded(states: Grids) -> Actions:
    """One number per state."""
    return np.asarray(states.reshape(-1, len(STICKERS)) @ WEIGHTS)


def successors(cube: PocketCube, layer: Grids, plans: Actions) -> tuple[Grids, Actions]:
    """The distinct states one turn further, and the turns that lead to them."""
    turns = np.tile(np.arange(len(TURNS)), len(layer))
    following = cube.step(np.repeat(layer, len(TURNS), axis=0), turns)
    longer = np.hstack([np.repeat(plans, len(TURNS), axis=0), turns[:, None]])
    first = np.unique(encoded(following), return_index=True)[1]
    return following[first], longer[first]


@cache
def table() -> tuple[Actions, Actions]:
    """All states at most `TABLE_DEPTH` turns from the goal, in order, and their distances."""
    cube = PocketCube()
    layer, plans = SOLVED.reshape(1, *cube.spec.shape), np.zeros((1, 0), dtype=np.int64)
    codes, depths = encoded(layer), np.zeros(1, dtype=np.int64)
    for depth in range(1, TABLE_DEPTH + 1):
        layer, plans = successors(cube, layer, plans)
        new = ~np.isin(encoded(layer), codes)
        layer, plans = layer[new], plans[new]
        codes = np.concatenate([codes, encoded(layer)])
        depths = np.concatenate([depths, np.full(len(layer), depth)])
    order = np.argsort(codes)
    return codes[order], depths[order]


if __name__ == "__main__":
    check_domain(PocketCube())
