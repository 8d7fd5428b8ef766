"""Every limit holds with every option combined, on a clock that only the domain's steps move."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from hips.arrays import Actions, Grids
from hips.domains import register
from hips.engines import Engine, LocalEngine
from hips.engines.base import Answer, Receive, Task, Work
from hips.methods import jobs
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob, solve_on
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver
from hips.planner.settings import Settings
from tests.planner.worlds import TinyTiles

TICK = 2.0**-10
"""Seconds that a step of one state takes."""
SLACK = 0.2
"""More than a round, or a layer of an improvement, takes."""
CLOCK = types.SimpleNamespace(now=0.0)
MODULES = ("planner.search", "planner.ledger", "planner.stopwatch", "planner.budget")
MODULES += ("planner.improve", "methods.jobs")

BUDGETS = (
    Budget(max_expansions=40),
    Budget(max_seconds=0.0),
    Budget(max_seconds=0.5),
    Budget(max_memory=6000),
    Budget(max_total_seconds=3.0),
    Budget(max_expansions=200, max_seconds=0.7, max_total_seconds=5.0),
)
SETTINGS: dict[str, tuple[Any, ...]] = {
    "close_on_generation": (False, True),
    "width": (1, 4),
}
"""Settings that may bend a limit, and their values. A new one is one line."""
BATCHES = (1, 6)
"""One level at a time, and all: with plans to improve, a batch ends before the next begins."""
PARALLEL = (1, 2)
IMPROVE = 0.3


@register("ticking_tiles")
@dataclass(frozen=True)
class TickingTiles(TinyTiles):
    """Tiles whose steps take time."""

    name = "ticking_tiles"

    def step(self, states: Grids, actions: Actions) -> Grids:
        CLOCK.now += TICK * len(states)
        return super().step(states, actions)


@dataclass(frozen=True)
class InTurn:
    """An engine that claims to run tasks at once, and runs them here, one after the other."""

    parallel: int

    def status(self) -> str:
        return ""

    def run(
        self, work: Work[Task, Answer], tasks: Iterable[Task], receive: Receive[Task, Answer]
    ) -> None:
        for task in tasks:
            work(task, lambda answer, task=task: receive(task, answer))  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def now() -> float:
        return float(CLOCK.now)

    clock = types.SimpleNamespace(perf_counter=now, monotonic=now, time=now)
    for module in MODULES:
        monkeypatch.setattr(f"hips.{module}.time", clock)
    monkeypatch.setattr(jobs, "_planners", {})


DOMAIN = TickingTiles()
STATES = DOMAIN.all_states()
SOLVABLE = [state for state in STATES if DOMAIN.solvable(state)]
HOPELESS = [state for state in STATES if not DOMAIN.solvable(state)]
LEVELS = [one for pair in zip(SOLVABLE[20::120], HOPELESS[::120], strict=False) for one in pair]


def solve(engine: Engine, job: SolveJob) -> tuple[list[Result], float]:
    """Results, and how long all of it took."""
    found: dict[int, Result] = {}
    CLOCK.now = 0.0  # equal searches see equal times, to the last bit
    solve_on(engine, DOMAIN, enumerate(LEVELS), job, ResultObserver(found.__setitem__))
    assert sorted(found) == list(range(len(LEVELS)))
    return [found[index] for index in range(len(LEVELS))], CLOCK.now


def check(result: Result, budget: Budget) -> None:
    """A search stays within its own limits."""
    spent = result.statistics
    if budget.max_expansions is not None:
        assert spent.expansions <= budget.max_expansions
    if budget.max_seconds is not None:
        assert spent.seconds <= budget.max_seconds + SLACK
    if budget.max_memory is not None:
        assert spent.peak_bytes < 2 * budget.max_memory


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("parallel", PARALLEL)
@pytest.mark.parametrize("batch", BATCHES)
def test_limits_hold_and_improvements_take_nobody_elses_time(
    budget: Budget, parallel: int, batch: int
) -> None:
    engine = LocalEngine(1) if parallel == 1 else InTurn(parallel)
    for values in product(*SETTINGS.values()):
        settings = Settings(**dict(zip(SETTINGS, values, strict=True)))
        choice = Choice("low_level", settings, execution=Execution(batch))
        plain, seconds = solve(engine, SolveJob(choice, budget))
        better, longer = solve(engine, SolveJob(choice, budget, IMPROVE))
        for one, other in zip(plain, better, strict=True):
            check(one, budget)
            check(other, budget)
            assert one.outcome is other.outcome
            assert _is_close(one.statistics.expansions, other.statistics.expansions, budget, batch)
            assert len(other.plan) <= len(one.plan)
        if budget.max_total_seconds is not None:
            assert max(seconds, longer) <= budget.max_total_seconds + SLACK * batch
        plans = sum(result.solved for result in better)
        assert longer - seconds <= plans * (IMPROVE + SLACK)


def _is_close(one: int, other: int, budget: Budget, batch: int) -> bool:
    """Equal, or nearly so where searches in lockstep share the seconds of their rounds."""
    shared = budget.max_seconds is not None and batch > 1
    return abs(one - other) <= (0.1 * max(one, other) if shared else 0)


def test_the_levels_and_limits_are_of_every_sort() -> None:
    outcomes = set()
    for budget in (*BUDGETS, Budget()):
        results, _ = solve(LocalEngine(1), SolveJob(Choice("low_level"), budget))
        outcomes |= {result.outcome for result in results}
    assert outcomes == {
        Outcome.SOLVED,
        Outcome.UNSOLVABLE,
        Outcome.OUT_OF_EXPANSIONS,
        Outcome.OUT_OF_TIME,
        Outcome.OUT_OF_MEMORY,
    }


def test_plans_are_improved_after_the_last_search_if_time_is_left() -> None:
    """With a limit on all of it, in one process and in many."""
    for engine in (LocalEngine(1), InTurn(2)):
        choice = Choice("low_level", Settings(evaluation="levin_ts"))
        job = SolveJob(choice, Budget(max_total_seconds=1000.0), 50.0)
        results, _ = solve(engine, job)
        improved = [result for result in results if result.solved]
        optimal = [len(DOMAIN.expert(r.start, np.random.default_rng(0))) for r in improved]  # type: ignore[arg-type]
        assert [len(result.plan) for result in improved] == optimal
