"""Small worlds for the search, written as naively as possible, and generators that mislead it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hips.domains import Actions, Bools, Domain, Grid, Grids, GridSpec, Preset
from hips.planner.packing import hash_states
from hips.planner.protocols import Proposals


@dataclass(frozen=True)
class GraphWorld(Domain):
    """Any deterministic graph as a domain: a state is the number of a vertex, in two cells."""

    edges: tuple[tuple[int, ...], ...]
    goals: frozenset[int]
    name: ClassVar[str] = "graph"

    @property
    def spec(self) -> GridSpec:
        actions = tuple(f"a{i}" for i in range(len(self.edges[0])))
        return GridSpec(1, 2, tuple(str(i) for i in range(64)), actions)

    @property
    def preset(self) -> Preset:
        return Preset(horizon=4)

    def grid(self, vertex: int) -> Grid:
        return np.array([[vertex // 64, vertex % 64]], dtype=np.uint8)

    def vertices(self, states: Grids) -> Actions:
        return states[:, 0, 0].astype(np.int64) * 64 + states[:, 0, 1]

    def step(self, states: Grids, actions: Actions) -> Grids:
        table = np.array(self.edges)
        known = np.minimum(self.vertices(states), len(table) - 1)
        following = table[known, actions]
        return np.stack([following // 64, following % 64], axis=1).astype(np.uint8)[:, None, :]

    def is_goal(self, states: Grids) -> Bools:
        return np.isin(self.vertices(states), list(self.goals))

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        return self.vertices(states) < len(self.edges)

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        return np.zeros((count, 1, 2), dtype=np.uint8)


def random_graph(
    seed: int, size: int = 12, num_actions: int = 3, solvable: bool = True
) -> GraphWorld:
    """A random graph whose goal is reachable from vertex 0, or is not."""
    rng = np.random.default_rng(seed)
    while True:
        edges = rng.integers(size, size=(size, num_actions))
        self_loops = rng.random((size, num_actions)) < 0.3
        edges[self_loops] = np.repeat(np.arange(size)[:, None], num_actions, axis=1)[self_loops]
        world = GraphWorld(tuple(tuple(map(int, row)) for row in edges), frozenset({size - 1}))
        if (size - 1 in reachable_vertices(world)) == solvable:
            return world


def reachable_vertices(world: GraphWorld) -> set[int]:
    seen, frontier = {0}, [0]
    while frontier:
        vertex = frontier.pop()
        for following in world.edges[vertex]:
            if following not in seen:
                seen.add(following)
                frontier.append(following)
    return seen


@dataclass(frozen=True)
class TinyTiles(Domain):
    """The 2×3 sliding puzzle; half of all arrangements cannot be solved."""

    height: int = 2
    width: int = 3
    name: ClassVar[str] = "tiny_tiles"

    @property
    def spec(self) -> GridSpec:
        symbols = tuple(str(i) for i in range(self.height * self.width))
        return GridSpec(self.height, self.width, symbols, ("up", "right", "down", "left"))

    @property
    def preset(self) -> Preset:
        return Preset(horizon=5)

    def step(self, states: Grids, actions: Actions) -> Grids:
        count = len(states)
        row, column = np.divmod(
            states.reshape(count, self.height * self.width).argmin(axis=1), self.width
        )
        to_row = (row + np.array([-1, 0, 1, 0])[actions]).clip(0, self.height - 1)
        to_column = (column + np.array([0, 1, 0, -1])[actions]).clip(0, self.width - 1)
        following, each = states.copy(), np.arange(count)
        following[each, row, column] = states[each, to_row, to_column]
        following[each, to_row, to_column] = 0
        return following

    def is_goal(self, states: Grids) -> Bools:
        goal = np.arange(self.height * self.width).reshape(self.height, self.width)
        return (states == goal).all(axis=(1, 2))

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        ordered = np.sort(states.reshape(len(states), self.height * self.width), axis=1)
        return (ordered == np.arange(self.height * self.width)).all(axis=1)

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        states = self.all_states()
        solvable = [i for i, state in enumerate(states) if self.solvable(state)][1:]
        return states[rng.choice(solvable, size=count)]

    def all_states(self) -> Grids:
        cells = range(self.height * self.width)
        orders = np.array(list(itertools.permutations(cells)), dtype=np.uint8)
        return orders.reshape(-1, self.height, self.width)

    def solvable(self, state: Grid) -> bool:
        """By parity: tile inversions, plus the blank's row where the width is even."""
        tiles = [int(tile) for tile in state.ravel() if tile]
        inversions = sum(a > b for a, b in itertools.combinations(tiles, 2))
        row = int(np.argwhere(state == 0)[0][0]) if self.width % 2 == 0 else 0
        return (inversions + row) % 2 == 0


# -- generators that mislead ----------------------------------------------------------------------


@dataclass(frozen=True)
class Adversary:
    """A generator from a function of one state that returns target grids."""

    domain: Domain
    targets: Callable[[Domain, Grid], list[Grid]]
    known: dict[bytes, list[Grid]] = field(default_factory=dict, compare=False)

    def propose(self, states: Grids) -> Proposals:
        for state in states:
            if state.tobytes() not in self.known:
                self.known[state.tobytes()] = self.targets(self.domain, state)
        lists = [self.known[state.tobytes()] for state in states]
        parents = np.repeat(np.arange(len(states)), [len(found) for found in lists])
        codes = np.concatenate([np.arange(len(found)) for found in lists]).astype(np.int64)
        grids = [grid for found in lists for grid in found]
        targets = np.array(grids, dtype=np.uint8).reshape(-1, *states.shape[1:])
        return Proposals(parents, codes, np.zeros(len(parents)), targets)


def nothing(domain: Domain, state: Grid) -> list[Grid]:
    return []


def rubbish(domain: Domain, state: Grid) -> list[Grid]:
    return [np.full_like(state, 255), np.full_like(state, 1)]


def self_loops(domain: Domain, state: Grid) -> list[Grid]:
    return [state.copy() for _ in range(4)]


def after(domain: Domain, state: Grid, actions: list[int]) -> Grid:
    for action in actions:
        state = domain.step(state[None], np.array([action]))[0]
    return state


def same_one(domain: Domain, state: Grid) -> list[Grid]:
    return [after(domain, state, [0, 0])] * 64


def plausible(domain: Domain, state: Grid) -> list[Grid]:
    """Legal states, most of them too far or in the wrong direction."""
    code = int(hash_states(state.reshape(1, -1))[0])
    rng = np.random.default_rng(code)
    num_actions = domain.spec.num_actions
    return [after(domain, state, list(rng.integers(num_actions, size=n))) for n in (2, 3, 9)]


def away_from_goals(domain: Domain, state: Grid) -> list[Grid]:
    """Two-step successors from which no goal is one step away: the generator never helps."""
    kept = []
    num_actions = domain.spec.num_actions
    for pair in itertools.product(range(num_actions), repeat=2):
        target = after(domain, state, list(pair))
        nearby = domain.step(np.stack([target] * num_actions), np.arange(num_actions))
        if not domain.is_goal(np.concatenate([nearby, target[None]])).any():
            kept.append(target)
    return kept


ADVERSARIES = {
    function.__name__: function
    for function in (nothing, rubbish, self_loops, same_one, plausible, away_from_goals)
}


@dataclass(frozen=True)
class LyingModel:
    """A dynamics model that is wrong with a given probability, but always wrong alike."""

    domain: Domain
    rate: float
    seed: int = 0
    known: dict[tuple[bytes, int], Grid] = field(default_factory=dict, compare=False)

    def step(self, states: Grids, actions: Actions) -> Grids:
        claimed = states.copy()
        for i, (state, action) in enumerate(zip(states, actions.tolist(), strict=True)):
            if (state.tobytes(), action) not in self.known:
                self.known[state.tobytes(), action] = self.claim(state, action)
            claimed[i] = self.known[state.tobytes(), action]
        return claimed

    def claim(self, state: Grid, action: int) -> Grid:
        code = int(hash_states(state.reshape(1, -1))[0])
        rng = np.random.default_rng([code, action, self.seed])
        wrong = list(rng.integers(self.domain.spec.num_actions, size=3))
        return after(self.domain, state, wrong if rng.random() < self.rate else [action])
