"""Every limit holds with every option combined, on a clock that only the domain's steps move."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from hips.arrays import Actions, Floats, Grid, Grids
from hips.domains import Domain, register
from hips.engines import Engine, LocalEngine
from hips.engines.base import Answer, Receive, Task, Work
from hips.methods import jobs
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob
from hips.methods.planner import Planner
from hips.methods.streams import solve_on
from hips.planner.budget import Budget
from hips.planner.components import Components
from hips.planner.generators import RepeatAction
from hips.planner.outcomes import Outcome
from hips.planner.policies import StateHeuristic
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
MODULES += ("planner.improve", "methods.jobs", "methods.streams")

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
SEARCHES: dict[str, Choice] = {
    "actions": Choice("low_level"),
    "subgoals": Choice("hips_eps"),
    "shares": Choice("hips_eps", Settings(shares="time")),
    "portfolio": Choice("portfolio"),
}
"""Searches of every sort: one search, and two that take turns in either way."""
BATCHES = (1, 6)
"""One level at a time, and all: with plans to improve, a batch ends before the next begins."""
PARALLEL = (1, 2)
IMPROVE = 0.3
CORE = [*product(["actions"], PARALLEL, BATCHES), ("shares", 2, 6), ("portfolio", 1, 6)]
"""What is tried by default; all the rest is slow."""


@register("ticking_tiles")
@dataclass(frozen=True)
class TickingTiles(TinyTiles):
    """Tiles whose steps take time."""

    name = "ticking_tiles"

    def step(self, states: Grids, actions: Actions) -> Grids:
        CLOCK.now += TICK * len(states)
        return super().step(states, actions)


@register("estimated_tiles")
@dataclass(frozen=True)
class EstimatedTiles(TickingTiles):
    """The same tiles with a rough estimate, which searches without a model need."""

    name = "estimated_tiles"

    def estimate(self, states: Grids) -> Floats:
        return np.array([misplaced(state) for state in states], dtype=np.float64)


def misplaced(state: Grid) -> float:
    """The number of cells that differ from the goal."""
    return float((state.ravel() != np.arange(state.size)).sum())


class Planners(dict[tuple[Domain, Choice], Planner]):
    """Planners with components that need no model."""

    def __missing__(self, key: tuple[Domain, Choice]) -> Planner:
        domain, choice = key
        own = Components(RepeatAction(domain), heuristic=StateHeuristic(misplaced))
        alone = choice.method == "low_level"
        self[key] = Planner(domain, choice, Components() if alone else own)
        return self[key]

    def __contains__(self, key: object) -> bool:
        return True


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
    monkeypatch.setattr(jobs, "_planners", Planners())


DOMAIN = TickingTiles()
STATES = DOMAIN.all_states()
SOLVABLE = [state for state in STATES if DOMAIN.solvable(state)]
HOPELESS = [state for state in STATES if not DOMAIN.solvable(state)]
LEVELS = [one for pair in zip(SOLVABLE[20::120], HOPELESS[::120], strict=False) for one in pair]


def solve(
    engine: Engine, job: SolveJob, domain: TickingTiles = DOMAIN
) -> tuple[list[Result], float]:
    """Results, and how long all of it took."""
    found: dict[int, Result] = {}
    CLOCK.now = 0.0  # equal searches see equal times, to the last bit
    solve_on(engine, domain, enumerate(LEVELS), job, ResultObserver(found.__setitem__))
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
@pytest.mark.parametrize(
    ("search", "parallel", "batch"),
    [
        pytest.param(*values, marks=[] if values in CORE else pytest.mark.slow)
        for values in product(SEARCHES, PARALLEL, BATCHES)
    ],
)
def test_limits_hold_and_improvements_take_nobody_elses_time(
    search: str, budget: Budget, parallel: int, batch: int
) -> None:
    engine = LocalEngine(1) if parallel == 1 else InTurn(parallel)
    for values in product(*SETTINGS.values()):
        varied = dict(zip(SETTINGS, values, strict=True))
        settings = replace(SEARCHES[search].settings, **varied)
        choice = replace(SEARCHES[search], settings=settings, execution=Execution(batch))
        domain = EstimatedTiles() if search == "portfolio" else DOMAIN
        plain, seconds = solve(engine, SolveJob(choice, budget), domain)
        better, longer = solve(engine, SolveJob(choice, budget, IMPROVE), domain)
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
