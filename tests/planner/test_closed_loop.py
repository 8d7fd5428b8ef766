"""Policies that act without searching: they solve, give up at their cap, and keep budgets."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hips.domains import Actions, Grid, Grids
from hips.errors import ContractError
from hips.planner.budget import Budget
from hips.planner.closed_loop import ClosedLoopPolicy, ClosedLoopSolver, Episodes, GreedyPolicy
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Observer, ResultObserver, StopSearch
from tests.toys import AGENT, LineWorld

WORLD = LineWorld(length=10)
LEFT, RIGHT = 0, 1


def line(place: int) -> Grid:
    level = np.zeros((1, 10), dtype=np.uint8)
    level[0, place] = AGENT
    return level


LEVELS = [line(place) for place in (0, 8, 4, 9, 2)]


@dataclasses.dataclass
class Rightward:
    """π_BC that goes right where it knows the way, and left elsewhere."""

    knows: int = 10
    calls: int = 1

    def log_probabilities(self, states: Grids) -> np.ndarray:
        right = states[:, 0].argmax(axis=1) < self.knows
        return np.log(np.where(right[:, None], [0.2, 0.8], [0.7, 0.3]))


def roll(
    policy: Rightward, budget: Budget | None = None, max_steps: int = 20, batch: int = 64
) -> list[Result]:
    solver = ClosedLoopSolver(GreedyPolicy(policy), max_steps, batch)
    return solver.solve_many(WORLD, LEVELS, budget or Budget())


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_a_good_policy_solves(batch: int) -> None:
    results = roll(Rightward(), batch=batch)
    assert [result.outcome for result in results] == [Outcome.SOLVED] * 5
    assert [result.length for result in results] == [9, 1, 5, 0, 7]
    for level, result in zip(LEVELS, results, strict=True):
        assert set(result.plan) <= {"right"}
        assert [segment.steps for segment in result.segments] == [1] * len(result.plan)
        np.testing.assert_array_equal(result.states[0], level)
        assert WORLD.is_goal(result.states)[-1]
        statistics = result.statistics
        assert statistics.expansions == statistics.network_rows == len(result.plan)
        assert statistics.environment_steps == len(result.plan)


def test_a_policy_that_loops_gives_up_at_the_cap_and_claims_nothing() -> None:
    results = roll(Rightward(knows=3), max_steps=11)
    incomplete = Outcome.UNSOLVED_INCOMPLETE
    expected = [incomplete, incomplete, incomplete, Outcome.SOLVED, incomplete]
    assert [result.outcome for result in results] == expected
    assert all(result.plan == () for result in results)
    assert [result.statistics.expansions for result in results] == [11, 11, 11, 0, 11]


def test_the_cap_counts_steps() -> None:
    outcomes = [result.outcome for result in roll(Rightward(), max_steps=5)]
    assert [outcome is Outcome.SOLVED for outcome in outcomes] == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("budget", "outcome"),
    [
        (Budget(max_expansions=5), Outcome.OUT_OF_EXPANSIONS),
        (Budget(max_expansions=0), Outcome.OUT_OF_EXPANSIONS),
        (Budget(max_seconds=0.0), Outcome.OUT_OF_TIME),
        (Budget(max_total_seconds=0.0), Outcome.OUT_OF_TIME),
    ],
)
def test_budgets_end_episodes(budget: Budget, outcome: Outcome) -> None:
    results = roll(Rightward(), budget)
    most = budget.max_expansions or 0
    for level, result in zip(LEVELS, results, strict=True):
        needed = 9 - int(level[0].argmax())
        assert result.outcome is (Outcome.SOLVED if needed <= most else outcome)
        assert result.statistics.expansions == min(needed, most)


def test_bad_levels_are_named_and_others_still_solved() -> None:
    levels = [np.zeros((2, 2), dtype=np.uint8), line(3)]
    told: dict[int, Result] = {}
    solver = ClosedLoopSolver(GreedyPolicy(Rightward()), 20)
    observer = ResultObserver(lambda index, result: told.__setitem__(index, result))
    results = solver.solve_many(WORLD, levels, Budget(), observer)
    assert [result.outcome for result in results] == [Outcome.INVALID_INPUT, Outcome.SOLVED]
    assert "(1, 10)" in results[0].message
    assert [told[index] for index in (0, 1)] == results


def test_an_observer_can_stop_the_rest() -> None:
    class Satisfied(Observer):
        def on_result(self, index: int, result: Result) -> None:
            if index == 1:
                raise StopSearch

    solver = ClosedLoopSolver(GreedyPolicy(Rightward()), 20, batch=1)
    results = solver.solve_many(WORLD, LEVELS, Budget(), Satisfied())
    solved, interrupted = Outcome.SOLVED, Outcome.INTERRUPTED
    assert [result.outcome for result in results] == [solved, solved, *[interrupted] * 3]


class Remembering:
    """Walks left some times, then right; how often hangs on the start, so it must look back."""

    def act(self, episodes: Episodes) -> Actions:
        count = len(episodes.states[-1])
        assert len(episodes.states) == len(episodes.actions) + 1
        assert all(len(actions) == count for actions in episodes.actions)
        lefts = episodes.states[0][:, 0].argmax(axis=1) % 3
        moved = np.zeros(count, dtype=int)
        for actions in episodes.actions:
            moved += actions == LEFT
        return np.where(moved < lefts, LEFT, RIGHT)


def test_a_policy_may_look_at_the_whole_episode() -> None:
    solver = ClosedLoopSolver(Remembering(), 20)
    results = solver.solve_many(WORLD, [line(8), line(6), line(4), line(2)], Budget())
    assert [result.plan for result in results] == [
        ("left", "left", *["right"] * 3),
        ("right",) * 3,
        ("left", *["right"] * 6),
        ("left", "left", *["right"] * 9),
    ]
    assert all(result.statistics.network_rows == 0 for result in results)


@pytest.mark.parametrize("answer", [[0], [0, 2], [-1, 0], [[0, 0]]])
def test_broken_policies_are_named(answer: list[int]) -> None:
    class Broken:
        def act(self, episodes: Episodes) -> Actions:
            return np.array(answer)

    policy: ClosedLoopPolicy = Broken()
    with pytest.raises(ContractError, match="closed-loop policy"):
        ClosedLoopSolver(policy, 5).solve_many(WORLD, LEVELS[:2], Budget())


@pytest.mark.parametrize("compiled", [False, True])
def test_ctrl_c_returns_what_is_known(compiled: bool) -> None:
    class Interrupted(Rightward):
        def log_probabilities(self, states: Grids) -> np.ndarray:
            if states[0, 0, 4] == AGENT:
                if compiled:
                    raise SystemError("returned a result") from KeyboardInterrupt()
                raise KeyboardInterrupt
            return super().log_probabilities(states)

    results = ClosedLoopSolver(GreedyPolicy(Interrupted()), 20, batch=1).solve_many(
        WORLD, [line(7), line(2), line(8)], Budget()
    )
    interrupted = Outcome.INTERRUPTED
    assert [result.outcome for result in results] == [Outcome.SOLVED, interrupted, interrupted]
