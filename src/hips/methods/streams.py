"""Streams of levels, solved on an engine: read as they are needed, reported as they are found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

import numpy as np

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.engines import Engine
from hips.interrupts import shielded
from hips.methods.jobs import ImproveTask, NumberedLevel, SolveJob, SolveTask
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Observer, Round

CHUNKS_PER_WORKER = 4
WINDOW = 1024
"""Levels that one process reads before it solves them; results come out one by one."""


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
