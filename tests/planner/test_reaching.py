"""Exhaustive and verified ways to subgoals, stages, and completeness over all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from hips.arrays import Floats, Grids
from hips.domains import Domain
from hips.errors import ConfigError
from hips.planner.budget import Budget
from hips.planner.expander import Hybrid
from hips.planner.outcomes import Outcome
from hips.planner.policies import NearestStepPolicy, UniformPolicy
from hips.planner.reaching import ExhaustiveReach, VerifiedReach
from hips.planner.rollouts import RolloutLimits, Simulator
from hips.planner.rounds import Observer, Round
from hips.planner.search import solve
from hips.planner.solvers import SearchSolver
from hips.planner.staged import Staged

from .expanders import misleading
from .test_completeness import assert_right
from .worlds import ADVERSARIES, Adversary, TinyTiles, after, random_graph

WORLDS = tuple(product(range(3), (True, False)))


def test_exhaustive_reach_finds_shortest_ways_and_nothing_beyond_its_depth() -> None:
    domain = TinyTiles()
    starts = domain.all_states()[[10, 10, 10, 300]]
    targets = np.stack(
        [
            after(domain, starts[0], [3, 0, 1]),
            after(domain, starts[1], [1]),
            domain.all_states()[700],
            after(domain, starts[3], [0, 1, 2, 3]),
        ]
    )
    simulator = Simulator(domain.step, domain.is_goal)
    owners = np.array([0, 0, 0, 5])
    found = ExhaustiveReach(4, 4).reach(simulator, starts, targets, owners)
    for row in range(4):
        plan = found.actions[row, : found.lengths[row]].tolist()
        if found.success[row]:
            np.testing.assert_array_equal(after(domain, starts[row], plan), targets[row])
    assert found.success.tolist()[:2] == [True, True]
    assert found.lengths[1] == 1
    assert found.lengths[0] <= 3
    assert found.simulated[[1, 2]].tolist() == [0, 0]  # one search for three rows
    shallow = ExhaustiveReach(4, 1).reach(simulator, starts, targets, owners)
    assert shallow.success.sum() <= 2
    with pytest.raises(ConfigError, match="0 steps"):
        ExhaustiveReach(4, 0)


@dataclass(frozen=True)
class Opinion:
    """A verifier with one answer."""

    chance: float
    calls: int = 1

    def probabilities(self, states: Grids, subgoals: Grids) -> Floats:
        assert len(states)  # exported graphs take no empty batch
        return np.full(len(states), self.chance)


def verified(domain: Domain, chance: float, distance: int = 3) -> VerifiedReach:
    return VerifiedReach(NearestStepPolicy(domain), Opinion(chance), RolloutLimits(6), distance)


def test_verifier_bands() -> None:
    domain = TinyTiles()
    starts = domain.all_states()[[10, 300]]
    targets = np.stack([after(domain, one, [1]) for one in starts])
    targets[1] = after(domain, starts[1], [3])
    simulator = Simulator(domain.step, domain.is_goal)
    owners = np.arange(2)
    no = verified(domain, 0.1).reach(simulator, starts, targets, owners)
    assert not no.success.any()
    assert no.policy_calls.tolist() == [1, 1]
    yes = verified(domain, 0.99).reach(simulator, starts, targets, owners)
    assert yes.success.all()
    assert yes.exact is not None
    assert not yes.exact.any()
    assert (yes.simulated == 0).all()
    between = verified(domain, 0.5).reach(simulator, starts, targets, owners)
    assert between.exact is not None
    assert between.exact.all()
    assert (between.simulated > 0).all()
    with pytest.raises(ConfigError, match="must not exceed"):
        VerifiedReach(NearestStepPolicy(domain), Opinion(0.5), RolloutLimits(6), 3, 0.9, 0.1)


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("epsilon", [0.1, 1e-5, 0.0])
def test_every_reacher_keeps_the_search_complete(adversary: str, epsilon: float) -> None:
    """A verifier that always says no, or always yes, loses no solution and proves nothing wrong."""
    for (seed, solvable), evaluation in product(WORLDS, ("gbfs", "phs_hat", "sqrt_lts")):
        world = random_graph(seed, solvable=solvable)
        for reacher in (
            ExhaustiveReach(3, 4),
            verified(world, 0.0),
            verified(world, 0.5),
            verified(world, 1.0),
        ):
            expander = misleading(world, adversary, epsilon, reacher=reacher)
            result = solve(world, world.grid(0), expander, evaluation=evaluation)
            assert_right(world, world.grid(0), result, solvable)


def staged(world: Domain, adversary: str, chance: float, epsilon: float | None) -> Staged:
    """Three generators; actions mixed into the first stage, as the last stage, or not at all."""
    usual = misleading(world, adversary, 0.1, action_policy=None)
    names = (adversary, "plausible", "same_one")
    stages = [
        replace(
            usual,
            generator=Adversary(world, ADVERSARIES[name]),
            reacher=verified(world, chance, distance),
        )
        for name, distance in zip(names, (4, 3, 2), strict=True)
    ]
    actions = UniformPolicy(world.spec.num_actions)
    if epsilon == 0.0:
        stages.append(Hybrid(world, action_policy=actions, heuristic=usual.heuristic))
    elif epsilon is not None:
        stages[0] = replace(stages[0], action_policy=actions, epsilon=epsilon)
    return Staged(tuple(stages))


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_stages_with_actions_are_complete(adversary: str, chance: float) -> None:
    for (seed, solvable), epsilon in product(WORLDS, (0.1, 0.0)):
        world = random_graph(seed, solvable=solvable)
        expander = staged(world, adversary, chance, epsilon)
        assert expander.complete
        result = solve(world, world.grid(0), expander, evaluation="gbfs")
        assert_right(world, world.grid(0), result, solvable)


def test_stages_without_actions_claim_nothing() -> None:
    outcomes = set()
    for (seed, solvable), chance in product(WORLDS, (0.0, 0.5, 1.0)):
        world = random_graph(seed, solvable=solvable)
        result = solve(world, world.grid(0), staged(world, "rubbish", chance, None))
        outcomes.add(result.outcome)
        if result.solved:
            assert_right(world, world.grid(0), result, True)
    assert outcomes <= {Outcome.SOLVED, Outcome.UNSOLVED_INCOMPLETE}
    assert Outcome.UNSOLVED_INCOMPLETE in outcomes


def test_searches_in_lockstep_do_not_mix_up_their_late_actions() -> None:
    """Several searches that end in one round, on edges that a verifier accepted unseen."""
    domain = TinyTiles()
    reacher = verified(domain, 1.0)
    expander = misleading(domain, "plausible", 0.1, reacher=reacher)
    levels = list(domain.all_states()[100:140])
    together = SearchSolver(expander, "gbfs").solve_many(domain, levels, Budget())
    for level, result in zip(levels, together, strict=True):
        alone = solve(domain, level, expander, evaluation="gbfs")
        assert result.outcome is alone.outcome
        assert result.plan == alone.plan


def test_a_later_stage_waits_until_no_node_waits_for_an_earlier_one() -> None:
    """The longest distance first; within it the best value first."""

    class Order(Observer):
        def __init__(self) -> None:
            self.times: dict[int, int] = {}
            self.waiting: dict[int, float] = {}
            self.checked = 0

        def on_round(self, round: Round) -> None:
            node = int(round.expanded.nodes[0])
            stage = self.times.get(node, 0)
            self.times[node] = stage + 1
            fresh = [h for other, h in self.waiting.items() if not self.times.get(other, 0)]
            if stage:
                assert not fresh
                self.checked += 1
            elif node in self.waiting:
                assert self.waiting[node] == min([*fresh, self.waiting[node]])
            offered = round.offered
            for child, h, accepted in zip(offered.nodes, offered.h, offered.accepted, strict=True):
                if accepted:
                    self.waiting[int(child)] = float(h)

    checked = 0
    for seed in range(6):
        world = random_graph(seed, solvable=False)
        order = Order()
        solve(
            world,
            world.grid(0),
            staged(world, "plausible", 0.5, 0.0),
            observer=order,
            evaluation="gbfs",
        )
        assert set(order.times.values()) == {4}
        checked += order.checked
    assert checked


def test_a_staged_expander_refuses_tiers_of_its_own() -> None:
    world = random_graph(0)
    with pytest.raises(ConfigError, match="last stage"):
        Staged((misleading(world, "plausible", 0.0),))
    with pytest.raises(ConfigError, match="at least one"):
        Staged(())
