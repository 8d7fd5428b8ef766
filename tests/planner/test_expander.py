from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Grids
from hips.errors import ConfigError, ContractError
from hips.planner.expander import Hybrid
from hips.planner.generators import GENERATORS, RandomLegal, RepeatAction
from hips.planner.policies import NearestStepPolicy, UniformPolicy
from hips.planner.protocols import LOG_FLOOR, DynamicsMode, Proposals
from hips.planner.rollouts import RolloutLimits

from .expanders import low_level, misleading
from .worlds import ADVERSARIES, GraphWorld, TinyTiles, after, random_graph

TILES = TinyTiles()


@dataclasses.dataclass(frozen=True)
class Fixed:
    """Proposes the same targets, by action lists from each state, with given log-probabilities."""

    lists: tuple[tuple[int, ...], ...]
    logits: tuple[float, ...]
    as_targets: bool = True

    def propose(self, states: Grids) -> Proposals:
        count = len(self.lists)
        parents = np.repeat(np.arange(len(states)), count)
        codes = np.tile(np.arange(count), len(states))
        logits = np.tile(self.logits, len(states))
        targets = np.stack(
            [after(TILES, s, list(actions)) for s in states for actions in self.lists]
        )
        return Proposals(parents, codes, logits, targets)


@dataclasses.dataclass(frozen=True)
class FixedPolicy:
    logits: tuple[float, ...]
    calls: int = 3

    def log_probabilities(self, states: Grids) -> np.ndarray:
        return np.tile(self.logits, (len(states), 1))


def totals(expander: Hybrid, states: Grids) -> np.ndarray:
    children = expander.expand(states)
    return np.bincount(
        children.parents, weights=np.exp(children.log_probabilities), minlength=len(states)
    )


@settings(deadline=None)
@given(
    epsilon=st.floats(1e-12, 1.0),
    logits=st.lists(st.floats(-700, 3), min_size=4, max_size=4),
    adversary=st.sampled_from(sorted(ADVERSARIES)),
    first=st.integers(0, 700),
)
def test_probabilities_sum_to_one(
    epsilon: float, logits: list[float], adversary: str, first: int
) -> None:
    states = TILES.all_states()[first : first + 5]
    policy = FixedPolicy(tuple(logits))
    expander = misleading(TILES, adversary, epsilon, action_policy=policy)
    assert totals(expander, states) == pytest.approx(np.ones(5), rel=1e-9)


def test_the_mixture_is_that_of_the_paper() -> None:
    """Two codes decode to the same state and add up; π_BC is normalised over applicable actions."""
    start = np.array([[3, 1, 2], [0, 4, 5]], dtype=np.uint8)  # up and right can be taken
    generator = Fixed(((1, 1), (1, 0), (1, 1), ()), (0.0, np.log(2.0), np.log(3.0), 5.0))
    policy = FixedPolicy((np.log(0.1), np.log(0.3), np.log(0.4), np.log(0.2)))
    expander = Hybrid(
        TILES,
        generator,
        policy,
        epsilon=0.2,
        reach_policy=NearestStepPolicy(TILES),
        limits=RolloutLimits(2),
    )
    children = expander.expand(start[None])
    found = dict(zip(children.kinds.tolist(), np.exp(children.log_probabilities), strict=True))
    assert found == pytest.approx({0: 0.8 * 4 / 6, 1: 0.8 * 2 / 6, ~0: 0.2 * 0.25, ~1: 0.2 * 0.75})
    assert children.costs.column("network_rows").tolist() == [3]
    assert children.actions[:, :2].tolist() == [[1, 1], [1, 0]]
    assert children.lengths.tolist() == [2, 2, 1, 1]
    assert not children.tiers.any()
    limit = dataclasses.replace(expander, epsilon=0.0).expand(start[None])
    assert np.exp(limit.log_probabilities) == pytest.approx([4 / 6, 2 / 6, 0.25, 0.75])
    assert limit.tiers.tolist() == [0, 0, 1, 1]


def test_without_valid_subgoals_actions_get_all_the_mass() -> None:
    states = TILES.all_states()[3:6]
    for adversary in ("nothing", "rubbish", "self_loops"):
        children = misleading(TILES, adversary, 1e-5).expand(states)
        assert (children.kinds < 0).all()
    assert totals(misleading(TILES, "nothing", 1e-5), states) == pytest.approx(np.ones(3))


def test_epsilon_one_asks_no_generator() -> None:
    class Never:
        def propose(self, states: Grids) -> Proposals:
            raise AssertionError

    expander = Hybrid(TILES, Never(), UniformPolicy(4), epsilon=1.0)
    assert (expander.expand(TILES.all_states()[:2]).kinds < 0).all()


def test_a_policy_that_rules_an_action_out_does_not_rule_out_plans() -> None:
    world = GraphWorld(((1, 0), (1, 2), (2, 2)), frozenset({2}))
    policy = FixedPolicy((0.0, -np.inf))
    children = Hybrid(world, action_policy=policy).expand(world.grid(1)[None])
    assert children.log_probabilities.tolist() == [0.0]
    both = Hybrid(random_graph(0), action_policy=FixedPolicy((0.0, -np.inf, -np.inf)))
    values = both.expand(random_graph(0).grid(3)[None]).log_probabilities
    assert np.isfinite(values).all()
    assert values.min() >= LOG_FLOOR - 10


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_bad_epsilon_in_code(epsilon: float) -> None:
    with pytest.raises(ConfigError):
        Hybrid(TILES, RepeatAction(TILES), UniformPolicy(4), epsilon)


def test_impossible_combinations_are_refused() -> None:
    with pytest.raises(ConfigError):
        Hybrid(TILES)
    with pytest.raises(ConfigError, match="model"):
        low_level(TILES, mode=DynamicsMode.HYBRID)
    with pytest.raises(ContractError, match="policy"):
        Hybrid(TILES, Fixed(((0,),), (0.0,))).expand(TILES.all_states()[:1])


def proposals(**changes: object) -> Proposals:
    rows = np.zeros(2, dtype=np.int64)
    good = Proposals(rows, rows, np.zeros(2), actions=np.zeros((2, 3), dtype=np.int64))
    return dataclasses.replace(good, **changes)


@pytest.mark.parametrize(
    "broken",
    [
        proposals(parents=np.array([0, 9])),
        proposals(codes=np.array([0, -1])),
        proposals(codes=np.zeros(3, dtype=np.int64)),
        proposals(log_probabilities=np.array([0.0, np.nan])),
        proposals(log_probabilities=np.array([0.0, np.inf])),
        proposals(actions=np.array([[0], [7]])),
        proposals(actions=np.zeros(2, dtype=np.int64)),
        proposals(actions=None),
        proposals(actions=None, targets=np.zeros((2, 9, 9), dtype=np.uint8)),
        proposals(actions=None, targets=np.zeros((2, 2, 3))),
        proposals(targets=np.zeros((2, 2, 3), dtype=np.uint8)),
    ],
)
def test_broken_generators_are_named(broken: Proposals) -> None:
    class Broken:
        def propose(self, states: Grids) -> Proposals:
            return broken

    expander = Hybrid(TILES, Broken(), UniformPolicy(4), reach_policy=NearestStepPolicy(TILES))
    with pytest.raises(ContractError):
        expander.expand(TILES.all_states()[:1])


@pytest.mark.parametrize("logits", [(0.0, np.nan, 0.0, 0.0), (0.0, 0.0)])
def test_broken_action_policies_are_named(logits: tuple[float, ...]) -> None:
    with pytest.raises(ContractError):
        Hybrid(TILES, action_policy=FixedPolicy(logits)).expand(TILES.all_states()[:1])


@pytest.mark.parametrize("name", GENERATORS.names())
def test_registered_generators_do_not_depend_on_the_batch(name: str) -> None:
    generator = GENERATORS.get(name)(TILES)
    states = TILES.sample(np.random.default_rng(0), 4)
    together = generator.propose(states)
    together.check(states, 4)
    for row, state in enumerate(states):
        alone = generator.propose(state[None])
        assert alone.actions is not None
        assert together.actions is not None
        assert (alone.actions == together.actions[together.parents == row]).all()


def test_random_subgoals_are_reachable_and_differ_by_seed() -> None:
    states = TILES.sample(np.random.default_rng(1), 3)
    first, second = (RandomLegal(TILES, seed=seed).propose(states).actions for seed in (0, 1))
    assert (first != second).any()
    expander = Hybrid(TILES, RandomLegal(TILES))
    assert len(expander.expand(states).parents) > 3
