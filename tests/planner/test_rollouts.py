from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hips.domains import Grids
from hips.errors import ConfigError, ContractError
from hips.planner.policies import NearestStepPolicy
from hips.planner.protocols import Foresight, ReachPolicy
from hips.planner.rollouts import (
    DEFAULT_RETRIES,
    RolloutLimits,
    Rollouts,
    Simulator,
    execute,
    follow,
)

from .worlds import GraphWorld

# A ring of eight vertices: action 0 goes on, action 1 stays.
RING = GraphWorld(tuple(((v + 1) % 8, v) for v in range(8)), frozenset({5}))


@dataclasses.dataclass
class Chunky:
    """Always goes on, foreseeing three actions with the given probabilities; counts its calls."""

    probabilities: tuple[float, float, float]
    rows: int = 0
    calls: int = 1

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        self.rows += len(states)
        chunk = np.array([[p, 1 - p] for p in self.probabilities])
        return Foresight(np.log(np.tile(chunk, (len(states), 1, 1))))


def grids(*vertices: int) -> Grids:
    return np.stack([RING.grid(v) for v in vertices])


def simulator(world: GraphWorld) -> Simulator:
    return Simulator(world.step, world.is_goal)


def roll(
    policy: ReachPolicy,
    starts: Grids,
    targets: Grids,
    horizon: int = 6,
    world: GraphWorld = RING,
    **limits: float,
) -> Rollouts:
    chosen = RolloutLimits(horizon, **{"chunk_confidence": 0.9, **limits})
    return follow(simulator(world), policy, starts, targets, chosen)


def test_rollouts_stop_where_they_should() -> None:
    found = roll(Chunky((0.9, 0.9, 0.9)), grids(0, 0, 3, 6), grids(3, 9, 9, 5), horizon=3)
    assert found.success.tolist() == [True, False, True, False]  # reached, missed, goal, horizon
    assert found.lengths.tolist() == [3, 3, 2, 3]
    assert RING.vertices(found.states).tolist() == [3, 3, 5, 1]
    assert found.simulated.tolist() == [3, 3, 2, 3]


def test_repeated_states_end_a_rollout() -> None:
    lonely = GraphWorld(((1, 0), (0, 1)), frozenset())
    policy = Chunky((0.9,) * 3)
    starts = lonely.grid(0)[None]
    found = roll(policy, starts, grids(7), 50, lonely)
    assert not found.success[0]
    assert found.lengths[0] == 1
    assert found.simulated[0] == 2 + DEFAULT_RETRIES


def test_where_an_action_leads_nowhere_new_the_next_best_is_tried() -> None:
    # The likeliest action stays at 0, goes back from 1, and stays at 2; the other one goes on.
    stubborn = GraphWorld(((0, 1), (0, 2), (2, 3), (3, 3)), frozenset())
    policy = Chunky((0.9,) * 3)
    starts = np.repeat(stubborn.grid(0)[None], 3, axis=0)
    targets = np.stack([stubborn.grid(v) for v in (1, 2, 3)])
    found = roll(policy, starts, targets, 50, stubborn)
    assert found.success.tolist() == [True, True, False]
    assert found.lengths.tolist() == [1, 2, 2]
    assert found.actions[1, :2].tolist() == [1, 1]
    assert found.simulated.tolist() == [2, 4, 5]


@pytest.mark.parametrize(
    ("probabilities", "asked"),
    [((0.9, 0.9, 0.9), 2), ((0.6, 0.9, 0.9), 2), ((0.9, 0.6, 0.9), 4), ((0.9, 0.9, 0.6), 2)],
)
def test_chunks_are_trusted_as_far_as_they_are_confident(
    probabilities: tuple[float, float, float], asked: int
) -> None:
    policy = Chunky(probabilities)
    found = roll(policy, grids(0), grids(4))
    assert found.success[0]
    assert policy.rows == asked == found.policy_calls[0]


def test_full_confidence_asks_at_every_step() -> None:
    policy = Chunky((1.0 - 1e-12,) * 3)
    assert roll(policy, grids(0), grids(4), chunk_confidence=1.0).success[0]
    assert policy.rows == 4


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"horizon": 0}, "horizon"),
        ({"chunk_confidence": 0.0}, "chunk_confidence"),
        ({"chunk_confidence": 1.1}, "chunk_confidence"),
        ({"chunk_confidence": float("nan")}, "chunk_confidence"),
        ({"min_reach_probability": -0.1}, "min_reach_probability"),
        ({"min_reach_probability": 1.1}, "min_reach_probability"),
    ],
)
def test_impossible_limits_are_refused(limits: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RolloutLimits(**{"horizon": 3, **limits})


def test_lists_are_executed_up_to_their_end_a_repeat_or_a_goal() -> None:
    lists = np.array([[0, 0, -1, -1], [0, 1, 0, 0], [0, 0, 0, 0], [-1, 0, 0, 0]])
    found = execute(simulator(RING), grids(0, 0, 3, 0), lists)
    assert RING.vertices(found.states).tolist() == [2, 1, 5, 0]
    assert found.success.tolist() == [True, True, True, False]
    assert found.lengths.tolist() == [2, 1, 2, 0]


def test_empty_batches() -> None:
    none = grids(0)[:0]
    assert len(roll(NearestStepPolicy(RING), none, none).states) == 0
    assert len(execute(simulator(RING), none, np.zeros((0, 3), dtype=int)).states) == 0


@pytest.mark.parametrize(
    "answer",
    [
        Foresight(np.zeros((1, 2))),
        Foresight(np.zeros((2, 1, 2))),
        Foresight(np.full((1, 1, 2), np.nan)),
        Foresight(np.zeros((1, 0, 2))),
        Foresight(np.zeros((1, 1, 2)), np.ones(2)),
    ],
)
def test_broken_policies_are_named(answer: Foresight) -> None:
    class Broken:
        def act(self, states: Grids, subgoals: Grids) -> Foresight:
            return answer

    with pytest.raises(ContractError, match="policy"):
        roll(Broken(), grids(0), grids(3))


@dataclasses.dataclass
class Doubtful(Chunky):
    """Believes in each vertex as much as it is told."""

    belief: tuple[float, ...] = (1.0,) * 8

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        believed = np.array([self.belief[v] for v in RING.vertices(states)])
        return dataclasses.replace(super().act(states, subgoals), reachable=believed)


def test_rollouts_without_hope_are_given_up_where_it_is_lost() -> None:
    def walk(least: float, *belief: float) -> Rollouts:
        policy = Doubtful((0.9, 0.6, 0.6), belief=belief)
        return roll(policy, grids(0, 1), grids(3, 3), min_reach_probability=least)

    sure = walk(0.5, 0.9, 0.5, 0.9, 0.9)
    assert sure.success.tolist() == [True, True]
    lost = walk(0.5, 0.9, 0.4, 0.9, 0.9)
    assert lost.success.tolist() == [False, False]
    assert lost.lengths.tolist() == [1, 0]
    assert lost.simulated.tolist() == [1, 0]
    assert lost.policy_calls.tolist() == [2, 1]
    assert walk(0.0, 0.0, 0.0, 0.0, 0.0).success.all()
