"""The same levels give the same results wherever they are solved."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from hips import domains
from hips.arrays import Grid
from hips.domains.handles import DomainHandle
from hips.engines import LocalEngine
from hips.methods import streams
from hips.methods.choosing import Choice
from hips.methods.jobs import ImproveTask, SolveJob, planner_for
from hips.methods.streams import solve_on
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver, StopSearch
from tests.planner.test_search import without_times
from tests.toys import LineWorld

TILES = domains.create("sliding_tiles", height=2, width=3)
STARTS = list(TILES.sample(np.random.default_rng(0), 5))
JOB = SolveJob(budget=Budget(max_expansions=120), seed=3)


SMALL = np.array([[1, 0], [2, 3]], dtype=np.uint8)


def solve_all(engine: LocalEngine, levels: Sequence[Grid], job: SolveJob) -> list[Result]:
    found: dict[int, Result] = {}
    solve_on(engine, TILES, enumerate(levels), job, ResultObserver(found.__setitem__))
    return [found[index] for index in range(len(levels))]


def test_workers_change_nothing_but_the_times() -> None:
    alone = solve_all(LocalEngine(1), STARTS, JOB)
    apart = solve_all(LocalEngine(2), STARTS, JOB)
    facts = [[without_times(r) | {"machine": None} for r in results] for results in (alone, apart)]
    assert facts[0] == facts[1]
    assert {result.provenance.machine["threads"] for result in apart} == {1}
    assert {result.seed for result in apart} == {3}
    assert {result.solved for result in apart} == {True, False}
    for start, result in zip(STARTS, apart, strict=True):
        np.testing.assert_array_equal(result.states[0], start)


def test_time_for_all_is_shared_by_all_workers() -> None:
    job = SolveJob(budget=Budget(max_total_seconds=0.0))
    results = solve_all(LocalEngine(2), STARTS, job)
    assert [result.outcome for result in results] == [Outcome.OUT_OF_TIME] * 5


def test_one_interrupt_ends_every_size_and_loses_nothing() -> None:
    found: dict[int, Result] = {}
    levels = [TILES.sample(np.random.default_rng(1), 1)[0], *STARTS[1:], SMALL, SMALL]

    def stop_at_first(index: int, result: Result) -> None:
        found[index] = result
        raise StopSearch

    with pytest.raises(KeyboardInterrupt):
        solve_on(LocalEngine(1), TILES, enumerate(levels), JOB, ResultObserver(stop_at_first))
    assert len(found) == 1


def test_streams_are_read_when_needed_and_every_level_is_solved_once() -> None:
    total, read = 3 * streams.WINDOW, 0
    level = LineWorld().sample(np.random.default_rng(1), 1)[0]

    def levels() -> Iterator[tuple[int, Grid]]:
        nonlocal read
        for read in range(1, total + 1):
            yield read - 1, level

    ahead: list[int] = []
    seen: Counter[int] = Counter()

    def count(index: int, result: Result) -> None:
        seen[index] += 1
        ahead.append(read - len(seen))

    solve_on(LocalEngine(1), LineWorld(), levels(), SolveJob(), ResultObserver(count))
    assert seen == Counter(range(total))
    assert max(ahead) <= streams.WINDOW


def test_a_planner_is_made_once() -> None:
    again = domains.create("sliding_tiles", height=2, width=3)
    assert planner_for(TILES, Choice()) is planner_for(again, Choice())
    assert planner_for(TILES, Choice()) is not planner_for(TILES, Choice("low_level"))


IMPROVED = SolveJob(Choice("low_level"), improve=600.0)
"""So small puzzles end long before the time does."""


def test_workers_improve_the_same_plans_after_all_searches() -> None:
    alone = solve_all(LocalEngine(1), STARTS, IMPROVED)
    apart = solve_all(LocalEngine(2), STARTS, IMPROVED)
    assert [result.plan for result in apart] == [result.plan for result in alone]
    assert all(result.history for result in alone + apart)
    limited = replace(IMPROVED, budget=Budget(max_total_seconds=600.0))
    again = solve_all(LocalEngine(2), STARTS, limited)
    assert [result.plan for result in again] == [result.plan for result in alone]


def test_improvement_that_starts_too_late_changes_nothing() -> None:
    found = replace(solve_all(LocalEngine(1), STARTS[:1], JOB)[0], start=None, domain=None)
    emitted: list[tuple[int, Result]] = []
    handle = DomainHandle.of(TILES)
    ImproveTask(handle, IMPROVED, (7, STARTS[0]), found, 1.0, time.time() - 1).work(emitted.append)
    assert emitted == [(7, found)]
    ImproveTask(handle, IMPROVED, (7, STARTS[0]), found, 1.0, None).work(emitted.append)
    assert emitted[1][1].history


def test_an_interrupt_loses_no_plan_that_waits_for_improvement() -> None:
    found: dict[int, Result] = {}

    def interrupt_once(index: int, result: Result) -> None:
        found[index] = result
        if len(found) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_on(LocalEngine(2), TILES, enumerate(STARTS), IMPROVED, ResultObserver(interrupt_once))
    assert sorted(found) == list(range(len(STARTS)))
    assert all(result.solved for result in found.values())
