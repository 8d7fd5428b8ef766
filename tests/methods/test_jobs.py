"""The same levels give the same results wherever they are solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hips import domains
from hips.engines import LocalEngine
from hips.methods import jobs
from hips.methods.jobs import SolveJob, planner_for, solve_on
from hips.methods.planner import Choice
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.rounds import ResultObserver
from tests.planner.test_search import without_times
from tests.toys import LineWorld

TILES = domains.create("sliding_tiles", height=2, width=3)
STARTS = list(TILES.sample(np.random.default_rng(0), 5))
JOB = SolveJob(budget=Budget(max_expansions=120), seed=3)


def test_workers_change_nothing_but_the_times() -> None:
    alone = solve_on(LocalEngine(1), TILES, STARTS, JOB)
    seen: list[int] = []
    observer = ResultObserver(lambda index, _: seen.append(index))
    apart = solve_on(LocalEngine(2), TILES, STARTS, JOB, observer)
    assert sorted(seen) == [0, 1, 2, 3, 4]
    facts = [[without_times(r) | {"machine": None} for r in results] for results in (alone, apart)]
    assert facts[0] == facts[1]
    assert {result.provenance.machine["threads"] for result in apart} == {1}
    assert {result.seed for result in apart} == {3}
    assert {result.solved for result in apart} == {True, False}
    for start, result in zip(STARTS, apart, strict=True):
        np.testing.assert_array_equal(result.states[0], start)


def test_time_for_all_is_shared_by_all_workers() -> None:
    job = SolveJob(budget=Budget(max_total_seconds=0.0))
    results = solve_on(LocalEngine(2), TILES, STARTS, job)
    assert [result.outcome for result in results] == [Outcome.OUT_OF_TIME] * 5


class Interrupted:
    """An engine that is interrupted after its first task."""

    parallel = 2

    def run(
        self, function: Callable[[Any], Any], tasks: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        yield tasks[0], function(tasks[0])
        raise KeyboardInterrupt


def test_levels_that_have_not_come_back_are_interrupted() -> None:
    levels = list(LineWorld().sample(np.random.default_rng(1), 20))
    results = solve_on(Interrupted(), LineWorld(), levels, SolveJob())
    solved = [result.outcome is Outcome.SOLVED for result in results]
    first = range(0, 20, 2 * jobs.CHUNKS_PER_WORKER)
    assert [index for index, one in enumerate(solved) if one] == list(first)
    assert {result.outcome for result in results} == {Outcome.SOLVED, Outcome.INTERRUPTED}


def test_a_planner_is_made_once() -> None:
    again = domains.create("sliding_tiles", height=2, width=3)
    assert planner_for(TILES, Choice()) is planner_for(again, Choice())
    assert planner_for(TILES, Choice()) is not planner_for(TILES, Choice("low_level"))
