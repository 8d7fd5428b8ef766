"""Levels to solve, and plans to improve, as plain data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.methods.runs import Run
from hips.planner.budget import Budget
from hips.planner.improve import Improvement, check_improve
from hips.planner.result import Result
from hips.planner.rounds import Observer, ResultObserver

_planners: dict[tuple[Domain, Choice], Planner] = {}


@dataclass(frozen=True, slots=True)
class SolveJob:
    """Everything about a run except the levels, as plain data.

    Attributes:
        choice: method, settings and model.
        budget: limits of each search, and of all together.
        improve: seconds to spend on shortening each plan.
        seed: recorded in the results.
    """

    choice: Choice = field(default_factory=Choice)
    budget: Budget = field(default_factory=Budget)
    improve: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        check_improve(self.improve)

    def pinned(self, domain: Domain) -> SolveJob:
        """This job with the model that this machine has; see `Choice.pinned`."""
        return replace(self, choice=self.choice.pinned(domain))

    def until(self, deadline: float | None) -> SolveJob:
        """This job with the time left until `deadline` (`time.time()`) for all its searches."""
        if deadline is None:
            return self
        left = max(0.0, deadline - time.time())
        return replace(self, budget=replace(self.budget, max_total_seconds=left))

    def solve(
        self, domain: Domain, levels: Sequence[Grid], observer: Observer | None = None
    ) -> list[Result]:
        """Results of levels, solved in this process."""
        return self.run(domain, levels, observer).in_order()

    def run(self, domain: Domain, levels: Sequence[Grid], observer: Observer | None = None) -> Run:
        """Solves levels in this process; caches the planner for the next call."""
        run = Run(self.budget, self.budget.deadline(), self.improve, self.seed, observer)
        planner_for(domain, self.choice).run(levels, run)
        return run


NumberedLevel: TypeAlias = tuple[int, Grid]


def planner_for(domain: Domain, choice: Choice) -> Planner:
    """The planner of a choice, created once per process."""
    key = (domain, choice)
    if key not in _planners:
        _planners[key] = Planner(domain, choice)
    return _planners[key]


@dataclass(frozen=True, slots=True)
class SolveTask:
    """Some levels for one worker, as plain data.

    Attributes:
        handle: the domain.
        job: how to solve.
        levels: the levels with their indices among all.
        deadline: `time.time()` at which all searches end, or None.
    """

    handle: DomainHandle
    job: SolveJob
    levels: tuple[NumberedLevel, ...]
    deadline: float | None = None

    def work(self, emit: Callable[[tuple[int, Result]], None]) -> None:
        """Solves the levels in the calling process; emits each result with its index."""
        job = self.job.until(self.deadline)
        indices = [index for index, _ in self.levels]

        def report(place: int, result: Result) -> None:
            # The parent cannot unpickle domains of plug-ins; it has the domain anyway.
            emit((indices[place], replace(result, start=None, domain=None)))

        job.solve(self.handle.open(), [level for _, level in self.levels], ResultObserver(report))


@dataclass(frozen=True, slots=True)
class ImproveTask:
    """One plan to improve, as plain data.

    Attributes:
        handle: the domain.
        job: how it was solved.
        level: the level with its index among all.
        result: its result, without level and domain.
        share: the part of the time left that it may take.
        deadline: `time.time()` at which all improvements end, or None.
    """

    handle: DomainHandle
    job: SolveJob
    level: NumberedLevel
    result: Result
    share: float
    deadline: float | None = None

    def work(self, emit: Callable[[tuple[int, Result]], None]) -> None:
        """Improves the plan in the calling process; emits the result with its index."""
        index, level = self.level
        domain = self.handle.open()
        sized = domain.for_grid(level)
        heuristic = planner_for(domain, self.job.choice).prepare(sized).solver.heuristic
        whole = replace(self.result, start=level, domain=sized)
        improvement = Improvement(whole, heuristic, self.job.budget.max_memory)
        # The time to load the model is part of the share.
        left = math.inf if self.deadline is None else self.share * (self.deadline - time.time())
        improved = improvement.run(min(self.job.improve, left))
        emit((index, replace(improved, start=None, domain=None)))
