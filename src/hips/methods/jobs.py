"""Levels as tasks for an engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

import numpy as np

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.engines import Engine
from hips.methods.planner import Choice, Planner
from hips.planner.budget import Budget
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

    def until(self, deadline: float | None) -> SolveJob:
        """This job with the time left until `deadline` (`time.time()`) for all its searches."""
        if deadline is None:
            return self
        left = max(0.0, deadline - time.time())
        return replace(self, budget=replace(self.budget, max_total_seconds=left))

    def solve(
        self, domain: Domain, levels: Sequence[Grid], observer: Observer | None = None
    ) -> list[Result]:
        """Solves levels in this process; caches the planner for the next call."""
        return planner_for(domain, self.choice).solve_many(
            levels, self.budget, improve=self.improve, seed=self.seed, observer=observer
        )


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


def solve_on(
    engine: Engine,
    domain: Domain,
    levels: Iterable[NumberedLevel],
    job: SolveJob,
    observer: Observer,
) -> None:
    """Solves a stream of numbered levels of a registered domain on an engine.

    Levels are read when they are needed, and each result goes to the observer as soon as it is
    known, so memory does not grow with their number. With several tasks at once, a limit on the
    total time leaves no time to improve plans found by tasks that start after it.

    Raises:
        KeyboardInterrupt: Ctrl-C; the observer has every result found until then.
    """
    total = job.budget.max_total_seconds
    deadline = None if total is None else time.time() + total
    if engine.parallel <= 1:
        for window in windows(levels, WINDOW):
            _solve_here(domain, window, job.until(deadline), observer)
        return
    handle = DomainHandle.of(domain)
    waiting: dict[int, Grid] = {}

    def tasks() -> Iterator[SolveTask]:
        for chunk in chunks(levels, engine.parallel, job.choice.execution.batch):
            waiting.update(chunk)
            yield SolveTask(handle, job, chunk, deadline)

    def receive(task: SolveTask, found: tuple[int, Result]) -> None:
        index, result = found
        start = waiting.pop(index)
        sized = domain if result.outcome is Outcome.INVALID_INPUT else domain.for_grid(start)
        observer.on_result(index, replace(result, start=start, domain=sized))

    engine.run(SolveTask.work, tasks(), receive)


class _Renumbered(Observer):
    """Passes rounds and results of a window on, with the indices of the whole stream."""

    def __init__(self, observer: Observer, indices: Sequence[int]) -> None:
        self.observer, self.indices = observer, np.asarray(indices)
        self.wants_rounds = observer.wants_rounds

    def on_round(self, round: Round) -> None:
        """Passes the round on."""
        expanded = replace(round.expanded, problems=self.indices[round.expanded.problems])
        self.observer.on_round(replace(round, expanded=expanded))

    def on_result(self, index: int, result: Result) -> None:
        """Passes the result on."""
        self.observer.on_result(int(self.indices[index]), result)


def _solve_here(
    domain: Domain, window: Sequence[NumberedLevel], job: SolveJob, observer: Observer
) -> None:
    renumbered = _Renumbered(observer, [index for index, _ in window])
    found = job.solve(domain, [level for _, level in window], renumbered)
    if any(result.outcome is Outcome.INTERRUPTED for result in found):
        raise KeyboardInterrupt


def windows(levels: Iterable[NumberedLevel], size: int) -> Iterator[tuple[NumberedLevel, ...]]:
    """Consecutive parts of at most `size` levels."""
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
