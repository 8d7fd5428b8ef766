"""√LTS: priorities against a naive reference, and its bound on trees."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Grid
from hips.errors import ConfigError
from hips.planner.evaluations import resolve, sqrt_lts
from hips.planner.expander import Hybrid
from hips.planner.options import SearchOptions
from hips.planner.policies import StateHeuristic
from hips.planner.rounds import Observer, Round
from hips.planner.search import Search, solve

from .expanders import low_level, misleading
from .test_bounds import NoisyPolicy, random_tree
from .worlds import GraphWorld, random_graph


class Memory(Observer):
    """Remembers every expanded node and every accepted edge of one search."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.h: dict[int, float] = {}
        self.parent: dict[int, int] = {}
        self.log_p: dict[int, float] = {}
        self.key: dict[int, float] = {}

    def on_round(self, round: Round) -> None:
        node = int(round.expanded.nodes[0])
        self.order.append(node)
        self.h[node] = float(round.expanded.h[0])
        offered = round.offered
        for child, log_p, key, accepted in zip(
            offered.nodes, offered.log_probabilities, offered.keys, offered.accepted, strict=True
        ):
            if accepted:
                self.parent[int(child)], self.log_p[int(child)] = node, float(log_p)
                self.key[int(child)] = float(key)

    def path(self, node: int) -> list[int]:
        path = [node]
        while path[-1] in self.parent:
            path.append(self.parent[path[-1]])
        return path[::-1]


def naive_key(memory: Memory, node: int, strength: float) -> float:
    """The definition: for every ancestor, the sum over the path of 1/π from it, by its weight."""
    path = memory.path(node)
    root_h = max(memory.h[path[0]], 1.0)
    keys = []
    for start, ancestor in enumerate(path[:-1]):
        total = 0.0
        for end in range(start, len(path)):
            pi = math.prod(math.exp(memory.log_p[one]) for one in path[start + 1 : end + 1])
            total += 1.0 / pi
        weight = 1.0 if start == 0 else math.exp(-strength * memory.h[ancestor] / root_h)
        keys.append(math.log(total / weight))
    return min(keys)


def noise(state: Grid) -> float:
    return float(int(state.ravel() @ np.array([31, 17])) % 9)


def watched(world: GraphWorld, expander: Hybrid, strength: float) -> tuple[Memory, Search]:
    memory = Memory()
    options = SearchOptions(sqrt_lts(strength))
    search = Search(world, [world.grid(0)], expander, options, memory)
    search.run()
    return memory, search


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), strength=st.sampled_from([0.0, 0.5, 3.0, 20.0]))
def test_keys_equal_the_naive_reference(seed: int, strength: float) -> None:
    world, _ = random_tree(seed, depth=5, branching=2)
    expander = Hybrid(
        world, action_policy=NoisyPolicy(world, seed), heuristic=StateHeuristic(noise)
    )
    memory, search = watched(world, expander, strength)
    assert search.results()[0].solved
    assert memory.key
    for node, key in memory.key.items():
        assert key == pytest.approx(naive_key(memory, node, strength), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("adversary", ["plausible", "same_one", "rubbish"])
@pytest.mark.parametrize("epsilon", [0.1, 0.0])
def test_keys_over_hybrid_expansion_equal_the_reference(adversary: str, epsilon: float) -> None:
    for seed in range(4):
        world = random_graph(seed)
        memory, _ = watched(world, misleading(world, adversary, epsilon), 2.0)
        for node, key in memory.key.items():
            assert key == pytest.approx(naive_key(memory, node, 2.0), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("strength", [0.0, 1.0, 10.0])
def test_expansions_obey_the_bound_on_trees(strength: float) -> None:
    """N ≤ e^B · Σ w_t, with B the largest key on the path to the goal.

    At most λ/π = x nodes below t have λ/π(n; t) ≤ x, so at most e^B w_t of them have a key of at
    most B because of t; every node expanded before the goal has such a key.
    """
    for seed in range(20):
        world, _ = random_tree(seed, depth=6, branching=2)
        expander = Hybrid(
            world, action_policy=NoisyPolicy(world, seed), heuristic=StateHeuristic(noise)
        )
        memory, search = watched(world, expander, strength)
        goal = next(node for node in memory.key if node not in memory.h and _is_goal(search, node))
        path = memory.path(goal)
        root_h = max(memory.h[path[0]], 1.0)
        weights = sum(
            1.0 if node == path[0] else math.exp(-strength * memory.h[node] / root_h)
            for node in memory.order
        )
        bound = math.exp(max(memory.key[node] for node in path[1:])) * weights
        assert search.results()[0].statistics.expansions <= bound * (1 + 1e-9)


def _is_goal(search: Search, node: int) -> bool:
    state = search.table._states[node].reshape(1, *search.table.shape)
    return bool(search.domain.is_goal(state)[0])


def test_a_clue_halfway_divides_the_exponent() -> None:
    """A tree of depth 10 with a clue at depth 5: about 2 · 2⁵ instead of 2¹⁰ expansions."""
    depth, goal = 10, 2**11 - 2
    edges = [(2 * v + 1, 2 * v + 2) for v in range(2**depth - 1)]
    leaves = [(v, v) for v in range(2**depth - 1, 2 ** (depth + 1) - 1)]
    world = GraphWorld((*edges, *leaves), frozenset({goal}))
    clue = goal
    for _ in range(depth // 2):
        clue = (clue - 1) // 2

    def hint(state: Grid) -> float:
        return 1.0 if world.vertices(state[None])[0] == clue else 100.0

    expander = low_level(world, heuristic=StateHeuristic(hint))
    found = {
        strength: solve(world, world.grid(0), expander, evaluation=one).statistics.expansions
        for strength, one in (("none", "levin_ts"), ("strong", sqrt_lts(10.0)))
    }
    assert found["strong"] < 5 * 2 ** (depth // 2) < found["none"]


def test_heuristic_rows_are_those_of_expanded_nodes() -> None:
    world, _ = random_tree(3, depth=5, branching=3)

    @dataclasses.dataclass(frozen=True)
    class Counting(StateHeuristic):
        calls: int = 1

    expander = low_level(world, heuristic=Counting(noise))
    found = solve(world, world.grid(0), expander, evaluation="sqrt_lts").statistics
    assert found.network_rows == found.expansions
    assert found.generated > found.expansions


def test_the_table_charges_for_weights_only_where_they_are_kept() -> None:
    world = random_graph(1)
    plain, weighted = (
        Search(world, [world.grid(0)], low_level(world), SearchOptions(name))
        for name in ("levin_ts", "sqrt_lts")
    )
    assert weighted.table.node_bytes >= plain.table.node_bytes + 8
    assert len(plain.table.log_weights) == 0


def test_weights_grow_with_the_table() -> None:
    world, _ = random_tree(5, depth=7, branching=3)
    hopeless = dataclasses.replace(world, goals=frozenset({10_000}))
    search = Search(hopeless, [world.grid(0)], low_level(world), SearchOptions(sqrt_lts(1.0)))
    search.run()
    assert len(search.table.log_weights) == len(search.table.nodes) > 1024


def test_a_negative_strength_is_refused() -> None:
    with pytest.raises(ConfigError, match="rerooting strength of -1"):
        sqrt_lts(-1.0)
    assert resolve("sqrt_lts").rerooting is not None
