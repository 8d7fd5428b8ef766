"""The paper's bounds on expansions, on trees where their assumptions hold."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hips.domains import Grids
from hips.planner.expander import Hybrid
from hips.planner.protocols import Proposals
from hips.planner.search import solve

from .expanders import low_level
from .worlds import GraphWorld


def random_tree(seed: int, depth: int, branching: int) -> tuple[GraphWorld, int]:
    """A complete tree whose leaves lead to themselves, with one goal, and the goal's depth."""
    rng = np.random.default_rng(seed)
    inner = (branching**depth - 1) // (branching - 1)
    size = inner + branching**depth
    edges = [
        tuple(v * branching + 1 + a for a in range(branching)) if v < inner else (v,) * branching
        for v in range(size)
    ]
    goal = int(rng.integers(1, size))
    level, vertex = 0, goal
    while vertex:
        vertex, level = (vertex - 1) // branching, level + 1
    return GraphWorld(tuple(edges), frozenset({goal})), level


@dataclasses.dataclass(frozen=True)
class NoisyPolicy:
    """A fixed random policy."""

    world: GraphWorld
    seed: int
    calls: int = 0

    def log_probabilities(self, states: Grids) -> np.ndarray:
        table = np.random.default_rng(self.seed).dirichlet(
            np.ones(self.world.spec.num_actions), size=len(self.world.edges)
        )
        return np.log(table[self.world.vertices(states)])


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1])
def test_expansions_obey_the_bound_of_the_corollary(epsilon: float) -> None:
    """No heuristic, a tree, useless subgoals: N ≤ g / (ε^g ∏ π_BC)."""

    class Elsewhere:
        """Proposes the same far leaf for every node: always valid, never helpful."""

        def propose(self, states: Grids) -> Proposals:
            rows = np.arange(len(states))
            lists = np.full((len(states), 1), 0)
            return Proposals(rows, np.zeros_like(rows), np.zeros(len(rows)), actions=lists)

    for seed in range(12):
        world, level = random_tree(seed, depth=4, branching=3)
        policy = NoisyPolicy(world, seed)
        expander = Hybrid(
            world,
            None if epsilon == 1.0 else Elsewhere(),
            policy,
            epsilon,
        )
        result = solve(world, world.grid(0), expander, evaluation="levin_ts")
        vertex, log_pi = next(iter(world.goals)), 0.0
        while vertex:
            parent, action = (vertex - 1) // 3, (vertex - 1) % 3
            log_pi += policy.log_probabilities(world.grid(parent)[None])[0, action]
            vertex = parent
        bound = level / np.exp(level * np.log(epsilon) + log_pi)
        assert result.solved
        assert result.statistics.expansions <= bound * (1 + 1e-9)


def test_phs_bound_on_low_level_search() -> None:
    """PHS with η = 1 expands at most g/π nodes with φ no larger than the solution's."""
    for seed in range(12):
        world, level = random_tree(100 + seed, depth=5, branching=2)
        result = solve(world, world.grid(0), low_level(world), evaluation="levin_ts")
        assert result.solved
        assert result.statistics.expansions <= level * 2.0**level
