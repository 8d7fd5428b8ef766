"""Levels as tasks for an engine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.engines import Engine
from hips.interrupts import shielded
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.methods.runs import Run
from hips.planner.budget import Budget
from hips.planner.improve import Improvement, check_improve
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Observer, ResultObserver, Round

CHUNKS_PER_WORKER = 4
WINDOW = 1024
"""Levels that one process reads before it solves them; results come out one by one."""
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


def solve_on(
    engine: Engine,
    domain: Domain,
    levels: Iterable[NumberedLevel],
    job: SolveJob,
    observer: Observer,
) -> None:
    """Solves a stream of numbered levels of a registered domain on an engine.

    Levels are read when they are needed, and each result goes to the observer as soon as it is
    known, so memory does not grow with their number. Only plans that are improved within a limit
    on the total time wait until every level has been searched.

    Raises:
        KeyboardInterrupt: Ctrl-C; the observer has every result found until then.
    """
    total = job.budget.max_total_seconds
    deadline = None if total is None else time.time() + total
    if engine.parallel <= 1:
        for window in windows(levels, _window(job, job.choice.execution.batch)):
            _solve_here(domain, window, job.until(deadline), observer)
        return
    apart = _Apart(engine, domain, job, deadline, observer)
    if job.improve <= 0:
        apart.solve(levels)
        return
    together = engine.parallel * CHUNKS_PER_WORKER * job.choice.execution.batch
    for window in windows(levels, _window(job, together)):
        apart.solve(window)
        apart.improve()


def _window(job: SolveJob, together: int) -> int | None:
    """Levels to search before the next plans are improved; None for all."""
    if job.improve <= 0:
        return WINDOW
    return together if job.budget.max_total_seconds is None else None


class _Apart:
    """Solves levels in other processes: first the searches, then the improvement of plans.

    Args:
        engine: runs the tasks.
        domain: the domain.
        job: how to solve.
        deadline: `time.time()` at which everything ends, or None.
        observer: gets the results.
    """

    def __init__(
        self,
        engine: Engine,
        domain: Domain,
        job: SolveJob,
        deadline: float | None,
        observer: Observer,
    ) -> None:
        self.engine, self.domain, self.job = engine, domain, job.pinned(domain)
        self.deadline, self.observer = deadline, observer
        self.handle = DomainHandle.of(domain)
        self._waiting: dict[int, Grid] = {}
        self._held: dict[int, Result] = {}

    def solve(self, levels: Iterable[NumberedLevel]) -> None:
        """Searches; plans to improve are held back until Ctrl-C or `improve`."""
        job = replace(self.job, improve=0.0)

        def tasks() -> Iterator[SolveTask]:
            for chunk in chunks(levels, self.engine.parallel, job.choice.execution.batch):
                self._waiting.update(chunk)
                yield SolveTask(self.handle, job, chunk, self.deadline)

        def receive(task: SolveTask, found: tuple[int, Result]) -> None:
            index, result = found
            if result.solved and self.job.improve > 0:
                self._held[index] = result
            else:
                self._report(index, result)

        with self._keeping():
            self.engine.run(SolveTask.work, tasks(), receive)

    def improve(self) -> None:
        """Improves the plans held back; they share the time left."""
        held = sorted(self._held)

        def tasks() -> Iterator[ImproveTask]:
            for place, index in enumerate(held):
                share = min(1.0, self.engine.parallel / (len(held) - place))
                level, result = (index, self._waiting[index]), self._held[index]
                yield ImproveTask(self.handle, self.job, level, result, share, self.deadline)

        def receive(task: ImproveTask, found: tuple[int, Result]) -> None:
            del self._held[found[0]]
            self._report(*found)

        with self._keeping():
            self.engine.run(ImproveTask.work, tasks(), receive)

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Reports the plans held back as they were found, if the work inside fails."""
        try:
            yield
        except BaseException:
            with shielded():
                while self._held:
                    self._report(*self._held.popitem())
            raise

    def _report(self, index: int, result: Result) -> None:
        start = self._waiting.pop(index)
        invalid = result.outcome is Outcome.INVALID_INPUT
        sized = self.domain if invalid else self.domain.for_grid(start)
        self.observer.on_result(index, replace(result, start=start, domain=sized))


class _Renumbered(Observer):
    """Passes rounds and results of a window on, with the indices of the whole stream."""

    def __init__(self, observer: Observer, indices: Sequence[int]) -> None:
        self.observer, self.indices = observer, np.asarray(indices)
        self.wants_rounds = observer.wants_rounds

    def on_round(self, round: Round) -> None:
        """Passes the round on."""
        expanded = replace(round.expanded, problems=self.indices[round.expanded.problems])
        self.observer.on_round(replace(round, expanded=expanded))

    def on_plan(self, index: int, result: Result) -> None:
        """Passes the better plan on."""
        self.observer.on_plan(int(self.indices[index]), result)

    def on_result(self, index: int, result: Result) -> None:
        """Passes the result on."""
        self.observer.on_result(int(self.indices[index]), result)


def _solve_here(
    domain: Domain, window: Sequence[NumberedLevel], job: SolveJob, observer: Observer
) -> None:
    renumbered = _Renumbered(observer, [index for index, _ in window])
    if job.run(domain, [level for _, level in window], renumbered).stopped:
        raise KeyboardInterrupt


def windows(
    levels: Iterable[NumberedLevel], size: int | None
) -> Iterator[tuple[NumberedLevel, ...]]:
    """Consecutive parts of at most `size` levels; None for one part."""
    coming = iter(levels)
    while window := tuple(islice(coming, size)):
        yield window


def chunks(
    levels: Iterable[NumberedLevel], parallel: int, batch: int
) -> Iterator[tuple[NumberedLevel, ...]]:
    """Tasks of at most `batch` levels; the last levels are dealt out evenly to all workers."""
    most = parallel * CHUNKS_PER_WORKER
    for window in windows(levels, most * batch):
        count = min(len(window), most)
        yield from (window[first::count] for first in range(count))
