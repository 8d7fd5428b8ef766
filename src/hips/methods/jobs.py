"""Levels as tasks for an engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.engines import Engine
from hips.methods.planner import Choice, Planner
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Observer

CHUNKS_PER_WORKER = 4
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

    def solve(
        self, domain: Domain, levels: Sequence[Grid], observer: Observer | None = None
    ) -> list[Result]:
        """Solves levels in this process; caches the planner for the next call."""
        return planner_for(domain, self.choice).solve_many(
            levels, self.budget, improve=self.improve, seed=self.seed, observer=observer
        )


def planner_for(domain: Domain, choice: Choice) -> Planner:
    """The planner of a choice, created once per process."""
    key = (domain, choice)
    if key not in _planners:
        _planners[key] = Planner(domain, choice)
    return _planners[key]


@dataclass(frozen=True, slots=True)
class SolveTask:
    """The input of one worker call.

    Attributes:
        handle: the domain.
        job: how to solve.
        indices: indices of the levels among all.
        levels: the levels.
        deadline: `time.time()` at which all searches end, or None.
    """

    handle: DomainHandle
    job: SolveJob
    indices: range
    levels: tuple[Grid, ...]
    deadline: float | None = None

    def run(self) -> list[Result]:
        """Solves the levels in the calling process."""
        job = self.job
        if self.deadline is not None:
            left = max(0.0, self.deadline - time.time())
            job = replace(job, budget=replace(job.budget, max_total_seconds=left))
        found = job.solve(self.handle.open(), self.levels)
        # The parent cannot unpickle domains of plug-ins; it has the domain anyway.
        return [replace(result, start=None, domain=None) for result in found]


def solve_on(
    engine: Engine,
    domain: Domain,
    levels: Sequence[Grid],
    job: SolveJob,
    observer: Observer | None = None,
) -> list[Result]:
    """Solves levels of a registered domain on an engine; results in their order.

    After Ctrl-C, levels of unfinished tasks are INTERRUPTED.
    """
    if engine.parallel <= 1 or len(levels) <= 1:
        return job.solve(domain, levels, observer)
    results = [Result(Outcome.INTERRUPTED, seed=job.seed) for _ in levels]
    try:
        for task, found in engine.run(SolveTask.run, _tasks(engine, domain, levels, job)):
            for index, result in zip(task.indices, found, strict=True):
                start = levels[index]
                results[index] = replace(result, start=start, domain=domain.for_grid(start))
                if observer is not None:
                    observer.on_result(index, results[index])
    except KeyboardInterrupt:
        pass
    return results


def _tasks(
    engine: Engine, domain: Domain, levels: Sequence[Grid], job: SolveJob
) -> list[SolveTask]:
    handle = DomainHandle.of(domain)
    total = job.budget.max_total_seconds
    deadline = None if total is None else time.time() + total
    num_chunks = min(len(levels), engine.parallel * CHUNKS_PER_WORKER)
    slices = [range(first, len(levels), num_chunks) for first in range(num_chunks)]
    return [
        SolveTask(handle, job, indices, tuple(levels[i] for i in indices), deadline)
        for indices in slices
    ]
