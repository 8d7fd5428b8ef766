"""Limits of expansions, time and memory end searches, one by one or all together."""

from __future__ import annotations

import dataclasses
import time
import types

import numpy as np
import pytest

from hips.domains import Grids
from hips.errors import ConfigError
from hips.planner.budget import Budget
from hips.planner.children import Children
from hips.planner.nodes import NodeTable
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.search import solve, solve_many

from .expanders import Recording, low_level
from .worlds import TinyTiles, random_graph

DOMAIN = TinyTiles()


def hopeless(count: int) -> list[np.ndarray]:
    """Start states whose 360 reachable states hold no goal."""
    return [state for state in DOMAIN.all_states() if not DOMAIN.solvable(state)][:count]


@pytest.mark.parametrize(
    ("budget", "outcome"),
    [
        (Budget(max_expansions=7), Outcome.OUT_OF_EXPANSIONS),
        (Budget(max_expansions=0), Outcome.OUT_OF_EXPANSIONS),
        (Budget(max_seconds=0.0), Outcome.OUT_OF_TIME),
        (Budget(max_total_seconds=0.0), Outcome.OUT_OF_TIME),
        (Budget(max_memory=3000), Outcome.OUT_OF_MEMORY),
    ],
)
def test_budgets_end_a_search(budget: Budget, outcome: Outcome) -> None:
    start = DOMAIN.all_states()[-1]
    result = solve(DOMAIN, start, low_level(DOMAIN), budget=budget)
    assert result.outcome is outcome
    if budget.max_expansions is not None:
        assert result.statistics.expansions == budget.max_expansions
    if budget.max_memory is not None:
        assert budget.max_memory <= result.statistics.peak_bytes < 2 * budget.max_memory


def test_exhaustion_beats_a_budget_that_ends_at_the_same_time() -> None:
    world = random_graph(1, solvable=False)
    unlimited = solve(world, world.grid(0), low_level(world))
    exactly = Budget(max_expansions=unlimited.statistics.expansions)
    less = Budget(max_expansions=unlimited.statistics.expansions - 1)
    outcomes = [
        solve(world, world.grid(0), low_level(world), budget=budget).outcome
        for budget in (exactly, less)
    ]
    assert outcomes == [Outcome.UNSOLVABLE, Outcome.OUT_OF_EXPANSIONS]


def test_the_largest_search_makes_room_when_memory_is_short() -> None:
    states = DOMAIN.all_states()
    starts = [states[-1], states[0], states[-2]]
    enough = solve_many(DOMAIN, starts, low_level(DOMAIN))
    results = solve_many(DOMAIN, starts, low_level(DOMAIN), total_bytes=40_000)
    assert results[1].solved
    outcomes = [result.outcome for result in results]
    assert outcomes.count(Outcome.OUT_OF_MEMORY) == 1
    ended = outcomes.index(Outcome.OUT_OF_MEMORY)
    assert all(outcomes[i] is enough[i].outcome for i in range(3) if i != ended)


def test_out_of_memory_in_a_round_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(NodeTable, "relax", fail)
    result = solve(DOMAIN, DOMAIN.all_states()[9], low_level(DOMAIN))
    assert result.outcome is Outcome.OUT_OF_MEMORY


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Budget)])
@pytest.mark.parametrize("value", [-1, float("nan")])
def test_impossible_budgets_are_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name} = "):
        Budget(**{name: value})


# -- time in lockstep ----------------------------------------------------------------------------


class Clock:
    """A clock that stands still unless something takes time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        clock = types.SimpleNamespace(perf_counter=lambda: self.now, monotonic=lambda: self.now)
        for module in ("stopwatch", "ledger", "search", "budget"):
            monkeypatch.setattr(f"hips.planner.{module}.time", clock)


@dataclasses.dataclass
class Slow(Recording):
    """An expander that needs one second for every state."""

    clock: Clock = None  # type: ignore[assignment]

    def expand(self, states: Grids, explain: bool = False) -> Children:
        self.clock.now += len(states)
        return super().expand(states, explain)


def slowly(
    monkeypatch: pytest.MonkeyPatch, starts: list[np.ndarray], budget: Budget, batch: int
) -> tuple[list[Result], float]:
    """Results, and how long all of it took."""
    clock = Clock(monkeypatch)
    expander = Slow(low_level(DOMAIN), clock=clock)
    results = solve_many(DOMAIN, starts, expander, budget=budget, batch=batch)
    return results, clock.now - 100.0


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_a_limit_of_seconds_means_the_same_in_every_batch(
    monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    results, elapsed = slowly(monkeypatch, hopeless(8), Budget(max_seconds=5.0), batch)
    assert [result.outcome for result in results] == [Outcome.OUT_OF_TIME] * 8
    assert [result.statistics.expansions for result in results] == [5] * 8
    assert [result.statistics.seconds for result in results] == pytest.approx([5.0] * 8)
    assert sum(result.statistics.seconds for result in results) == pytest.approx(elapsed)
    for result in results:
        assert sum(result.statistics.phases.values()) == pytest.approx(5.0)
    # The first ones share their rounds with as many others as the batch allows.
    assert results[0].statistics.elapsed_seconds == pytest.approx(5.0 * batch)


@pytest.mark.parametrize(("batch", "expansions"), [(8, [3] * 8), (2, [10, 10, 0, 0, 0, 0, 0, 0])])
def test_a_limit_of_all_seconds_ends_all_searches(
    monkeypatch: pytest.MonkeyPatch, batch: int, expansions: list[int]
) -> None:
    results, elapsed = slowly(monkeypatch, hopeless(8), Budget(max_total_seconds=20.0), batch)
    assert [result.outcome for result in results] == [Outcome.OUT_OF_TIME] * 8
    assert [result.statistics.expansions for result in results] == expansions
    assert 20.0 <= elapsed < 20.0 + batch


def test_a_search_that_ends_early_pays_for_its_own_rounds_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solved = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    results, elapsed = slowly(monkeypatch, [solved, *hopeless(1)], Budget(max_expansions=10), 2)
    seconds = [result.statistics.seconds for result in results]
    assert results[0].solved
    assert seconds == pytest.approx([result.statistics.expansions for result in results])
    assert sum(seconds) == pytest.approx(elapsed)


@pytest.mark.parametrize("batch", [1, 8])
def test_seconds_add_up_to_the_time_that_passed(batch: int) -> None:
    """With a real clock: all that was slept is counted, and nothing more than what passed."""
    nap, expansions = 0.002, 4
    rounding = 1e-6  # sums of differences of readings; what is counted wrongly is a nap or more

    @dataclasses.dataclass
    class Sleepy(Recording):
        def expand(self, states: Grids, explain: bool = False) -> Children:
            time.sleep(nap * len(states))
            return super().expand(states, explain)

    budget = Budget(max_expansions=expansions)
    before = time.perf_counter()
    results = solve_many(DOMAIN, hopeless(8), Sleepy(low_level(DOMAIN)), budget=budget, batch=batch)
    elapsed = time.perf_counter() - before
    total = sum(result.statistics.seconds for result in results)
    assert 8 * expansions * nap - rounding <= total <= elapsed + rounding
    for result in results:
        found = result.statistics
        assert expansions * nap - rounding <= found.seconds <= found.elapsed_seconds + rounding
        assert found.elapsed_seconds <= elapsed + rounding
