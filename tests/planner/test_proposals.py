"""What becomes of proposed subgoals, and of the action policy that comes with them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips.domains import Grids
from hips.planner.budget import Budget
from hips.planner.children import Fate
from hips.planner.expander import Hybrid
from hips.planner.generators import RandomLegal, RepeatAction
from hips.planner.policies import NearestStepPolicy
from hips.planner.proposals import normalise, screen
from hips.planner.protocols import DynamicsMode, Proposals
from hips.planner.rollouts import RolloutLimits
from hips.planner.search import solve

from .expanders import misleading
from .worlds import ADVERSARIES, Adversary, LyingModel, TinyTiles, after

TILES = TinyTiles()
START = np.array([[3, 1, 2], [0, 5, 4]], dtype=np.uint8)  # no goal is anywhere near
ILLEGAL = np.full((2, 3), 1, dtype=np.uint8)


def several(state: np.ndarray) -> list[np.ndarray]:
    """Two ways on, one of them twice; the state itself; two impossible ones; one that is far."""
    ways = [(1, 1), (1, 0), (1, 1), (), (1, 1, 0, 3, 3, 2)]
    reached = [after(TILES, state, list(way)) for way in ways]
    return [*reached, ILLEGAL, ILLEGAL]


def expander(horizon: int = 2) -> Hybrid:
    generator = Adversary(TILES, lambda domain, state: several(state))
    return Hybrid(
        TILES, generator, reach_policy=NearestStepPolicy(TILES), limits=RolloutLimits(horizon)
    )


def test_proposals_are_screened_before_any_rollout() -> None:
    generator = Adversary(TILES, lambda domain, state: several(state))
    found = screen(TILES, START[None], generator.propose(START[None]))
    assert found.rows.tolist() == [0, 1, 4]
    assert found.usable.codes.tolist() == [0, 1, 4]
    assert np.exp(found.usable.log_probabilities) == pytest.approx([2.0, 1.0, 1.0])
    kept, repeated, illegal = Fate.KEPT, Fate.REPEATED, Fate.ILLEGAL
    assert found.fates.tolist() == [kept, kept, repeated, repeated, kept, illegal, illegal]


def test_impossible_proposals_have_no_share() -> None:
    logarithms = np.array([-np.inf, -np.inf, -1.0, -np.inf])
    shares = normalise(logarithms, np.array([0, 0, 1, 1]), 3)
    assert np.exp(shares).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_every_proposal_has_one_fate() -> None:
    children = expander().expand(START[None], explain=True)
    assert children.costs.proposals.tolist() == [[2, 2, 2, 1, 0]]
    rejected = children.rejected
    assert rejected is not None
    assert rejected.codes.tolist() == [2, 3, 4, 5, 6]
    assert [Fate(fate).name for fate in rejected.fates] == [
        "REPEATED",
        "REPEATED",
        "UNREACHED",
        "ILLEGAL",
        "ILLEGAL",
    ]
    np.testing.assert_array_equal(rejected.states, np.stack(several(START))[2:])
    short = expander(horizon=1).expand(START[None])
    assert short.costs.proposals.tolist() == [[0, 2, 2, 3, 0]]
    assert short.rejected is None


def test_action_lists_that_end_alike_or_nowhere_are_told_apart() -> None:
    class Lists:
        def propose(self, states: Grids) -> Proposals:
            actions = np.array([[1, 0, -1], [1, 0, 0], [3, 3, 3], [1, -1, -1]])
            rows = np.zeros(4, dtype=np.int64)
            return Proposals(rows, np.arange(4), np.log([0.1, 0.2, 0.3, 0.4]), actions=actions)

    children = Hybrid(TILES, Lists()).expand(START[None], explain=True)
    assert children.costs.proposals.tolist() == [[2, 0, 1, 1, 0]]
    assert children.kinds.tolist() == [0, 3]
    assert np.exp(children.log_probabilities) == pytest.approx([0.3 / 0.7, 0.4 / 0.7])
    assert children.rejected is not None
    assert children.rejected.codes.tolist() == [1, 2]
    assert children.rejected.fates.tolist() == [Fate.REPEATED, Fate.UNREACHED]
    np.testing.assert_array_equal(children.rejected.states[1], START)


@given(
    adversary=st.sampled_from(sorted(ADVERSARIES)),
    epsilon=st.sampled_from([0.0, 0.1]),
    mode=st.sampled_from(DynamicsMode),
    horizon=st.integers(1, 4),
    first=st.integers(0, 700),
)
def test_counts_of_proposals_add_up(
    adversary: str, epsilon: float, mode: DynamicsMode, horizon: int, first: int
) -> None:
    options: dict[str, Any] = {"mode": mode, "limits": RolloutLimits(horizon)}
    if mode is not DynamicsMode.TRUE:
        options["dynamics"] = LyingModel(TILES, 0.3)
    hybrid = misleading(TILES, adversary, epsilon, **options)
    states = TILES.all_states()[first : first + 4]
    assert_counts(hybrid, states)


@pytest.mark.parametrize("generator", [RepeatAction(TILES), RandomLegal(TILES)])
def test_counts_of_action_lists_add_up(generator: Any) -> None:
    for first in range(0, 700, 97):
        assert_counts(Hybrid(TILES, generator), TILES.all_states()[first : first + 4])


def assert_counts(hybrid: Hybrid, states: Grids) -> None:
    """Kept, illegal, repeated and unreached are all that was proposed, and what is shown."""
    assert hybrid.generator is not None
    proposed = np.bincount(hybrid.generator.propose(states).parents, minlength=len(states))
    children = hybrid.expand(states, explain=True)
    counts, rejected = children.costs.proposals, children.rejected
    assert rejected is not None
    assert counts.sum(axis=1).tolist() == proposed.tolist()
    subgoals = children.parents[children.kinds >= 0]
    assert counts[:, Fate.KEPT].tolist() == np.bincount(subgoals, minlength=len(states)).tolist()
    assert Fate.KEPT not in rejected.fates
    for fate in (Fate.ILLEGAL, Fate.REPEATED, Fate.UNREACHED):
        shown = np.bincount(rejected.parents[rejected.fates == fate], minlength=len(states))
        assert counts[:, fate].tolist() == shown.tolist()


@pytest.mark.parametrize("adversary", sorted(ADVERSARIES))
def test_an_explanation_changes_no_child(adversary: str) -> None:
    states = TILES.all_states()[100:110]
    hybrid = misleading(TILES, adversary, 0.1)
    plain, explained = hybrid.expand(states), hybrid.expand(states, explain=True)
    assert plain.rejected is None
    for name in ("parents", "states", "log_probabilities", "lengths", "kinds", "actions"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(explained, name))


# -- one network for subgoals and actions --------------------------------------------------------


@dataclasses.dataclass
class Network:
    """π_BC that counts how often it is asked; the blank prefers to go left."""

    calls: int = 1
    asked: int = 0

    def log_probabilities(self, states: Grids) -> np.ndarray:
        self.asked += len(states)
        return np.log(np.tile([0.1, 0.2, 0.3, 0.4], (len(states), 1)))


@dataclasses.dataclass
class Shared:
    """A generator that gets π_BC of the same network in the same pass."""

    action_policy: Network
    tells: bool = True

    def propose(self, states: Grids) -> Proposals:
        proposed = RepeatAction(TILES).propose(states)
        log_actions = self.action_policy.log_probabilities(states) if self.tells else None
        return dataclasses.replace(
            proposed, calls=int(self.tells), action_log_probabilities=log_actions
        )


def test_a_network_that_gives_both_policies_is_asked_once() -> None:
    states = TILES.all_states()[40:47]
    together, apart, other = Network(), Network(), Network()
    once = Hybrid(TILES, Shared(together), together, 0.1).expand(states)
    silent = Hybrid(TILES, Shared(apart, tells=False), apart, 0.1).expand(states)
    foreign = Hybrid(TILES, Shared(Network()), other, 0.1).expand(states)
    assert together.asked == apart.asked == other.asked == len(states)
    assert (
        once.costs.column("network_rows").tolist()
        == silent.costs.column("network_rows").tolist()
        == [1] * 7
    )
    assert foreign.costs.column("network_rows").tolist() == [2] * 7
    for children in (silent, foreign):
        np.testing.assert_array_equal(once.log_probabilities, children.log_probabilities)


def test_a_search_with_a_shared_network_asks_it_once_a_node() -> None:
    network = Network()
    hybrid = Hybrid(TILES, Shared(network), network, 0.1)
    budget = Budget(max_expansions=25)
    result = solve(TILES, TILES.all_states()[-1], hybrid, evaluation="levin_ts", budget=budget)
    assert network.asked == result.statistics.expansions == result.statistics.network_rows == 25


def test_without_actions_the_shared_policy_is_not_needed() -> None:
    children = Hybrid(TILES, Shared(Network())).expand(TILES.all_states()[:3])
    assert (children.kinds >= 0).all()
