"""Searching levels to learn from them: tasks of some levels each, finished ones kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hips.arrays import Grid, Grids, Ints
from hips.data import Progress
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.engines import Engine, LocalEngine
from hips.files import locked
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.rounds import Observer, Round
from hips.practice.lessons import Lesson, LessonFiles, join
from hips.practice.teachers import ExpertTeacher, Searched, Teacher
from hips.seeding import stream

LEVELS_A_TASK = 64


class ExpandedStates(Observer):
    """Records every expanded state and its level."""

    def __init__(self) -> None:
        self._states: list[Grids] = []
        self._levels: list[Ints] = []

    def on_round(self, round: Round) -> None:
        """Records the states of a round."""
        self._states.append(round.expanded.states)
        self._levels.append(round.expanded.problems)

    def distinct(self, shape: tuple[int, int]) -> tuple[Grids, Ints]:
        """Distinct states `[M, H, W]` and the first level of each, `[M]`."""
        if not self._states:
            return np.zeros((0, *shape), dtype=np.uint8), np.zeros(0, dtype=np.int64)
        states, first = np.unique(np.concatenate(self._states), axis=0, return_index=True)
        return states, np.concatenate(self._levels)[first]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How levels are searched, and who teaches.

    Attributes:
        purpose: names the random streams.
        seed: of sampled levels and of the teacher's choices.
        max_expansions: limit of each search.
        choice: method, settings and model.
        teacher: makes lessons of the searches.
    """

    purpose: str
    seed: int = 0
    max_expansions: int = 50
    choice: Choice = field(default_factory=Choice)
    teacher: Teacher = field(default_factory=ExpertTeacher)


@dataclass(frozen=True, slots=True)
class SearchTask:
    """Some levels to search: `given` ones, or sampled from a stream named after `index`."""

    handle: DomainHandle
    plan: SearchPlan
    index: int
    count: int
    given: tuple[Grid, ...] = ()

    def work(self, emit: Callable[[Lesson], None]) -> None:
        """Emits the lesson of the levels."""
        domain, plan = self.handle.open(), self.plan
        rng = stream(plan.seed, plan.purpose, domain.name, self.index)
        levels = self.given or tuple(domain.sample(rng, self.count))
        planner = Planner(domain, plan.choice)
        budget = Budget(plan.max_expansions)

        def solve(states: Sequence[Grid]) -> Sequence[Result]:
            return planner.solve_many(states, budget)

        watcher = ExpandedStates()
        results = planner.solve_many(levels, budget, observer=watcher)
        searched = Searched(levels, results, *watcher.distinct(domain.spec.shape))
        emit(plan.teacher.teach(domain, searched, solve, rng))

    def origin(self, domain: Domain) -> dict[str, Any]:
        """Everything that determines the lesson, JSON-compatible."""
        return {
            "domain": domain.name,
            "parameters": domain.parameters(),
            "seed": self.plan.seed,
            "expansions": self.plan.max_expansions,
            "teacher": repr(self.plan.teacher),
            "index": self.index,
            "count": self.count,
            "levels": hashlib.sha256(b"".join(map(np.ndarray.tobytes, self.given))).hexdigest(),
            "model": self.plan.choice.fingerprint or None,
        }


def make_tasks(
    domain: Domain, plan: SearchPlan, given: Sequence[Grid] = (), sampled: int = 0
) -> list[SearchTask]:
    """Tasks for given levels, then for `sampled` ones."""
    handle, plan = DomainHandle.of(domain), replace(plan, choice=plan.choice.pinned(domain))
    parts = [tuple(given[i : i + LEVELS_A_TASK]) for i in range(0, len(given), LEVELS_A_TASK)]
    counts = [min(LEVELS_A_TASK, sampled - i) for i in range(0, sampled, LEVELS_A_TASK)]
    return [
        SearchTask(handle, plan, index, count, part)
        for index, (count, part) in enumerate(
            [(len(part), part) for part in parts] + [(count, ()) for count in counts]
        )
    ]


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where searches run and keep their results.

    Attributes:
        engine: where the searches run.
        files: keeps the lessons of finished tasks; None keeps them in memory only.
        progress: called with the number of levels done and their total.
    """

    engine: Engine = field(default_factory=LocalEngine)
    files: LessonFiles | None = None
    progress: Progress | None = None


def run_tasks(domain: Domain, tasks: Sequence[SearchTask], place: Workplace) -> Lesson:
    """The lessons of all tasks, joined in their order; those on disk are not repeated."""
    with nullcontext() if place.files is None else locked(place.files.folder):
        return _run_missing(domain, tasks, place)


def _run_missing(domain: Domain, tasks: Sequence[SearchTask], place: Workplace) -> Lesson:
    total = sum(task.count for task in tasks)
    found: dict[int, Lesson] = {}

    def keep(task: SearchTask, lesson: Lesson) -> None:
        found[task.index] = lesson
        if place.progress is not None:
            place.progress(sum(tasks[index].count for index in found), total)

    def store(task: SearchTask, lesson: Lesson) -> None:
        if place.files is not None:
            place.files.save(task.index, replace(lesson, origin=task.origin(domain)))
        keep(task, lesson)

    if place.files is not None:
        for task in tasks:
            lesson = place.files.load(task.index, domain, task.origin(domain))
            if lesson is not None:
                keep(task, lesson)
    place.engine.run(SearchTask.work, [t for t in tasks if t.index not in found], store)
    return join([found[task.index] for task in tasks])
