from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from hips.engines import LocalEngine
from hips.errors import ConfigError, HipsError, LevelError
from hips.machine import cores


def square(number: int) -> int:
    return number * number


def fail(number: int) -> int:
    if number == 1:
        raise LevelError("odd", line=3, column=4, source="levels.txt")
    return number


def die(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def dawdle(number: int) -> int:
    time.sleep(60 if number else 0)
    return number


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once(workers: int) -> None:
    engine = LocalEngine(workers)
    assert engine.parallel == workers
    assert sorted(engine.run(square, [1, 2, 3, 4])) == [(1, 1), (2, 4), (3, 9), (4, 16)]


def test_no_tasks() -> None:
    assert list(LocalEngine(4).run(square, [])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_come_through_whole(workers: int) -> None:
    with pytest.raises(LevelError, match=r"levels\.txt, line 3, column 4: odd"):
        list(LocalEngine(workers).run(fail, [1, 2]))


@pytest.mark.parametrize("workers", [0, -1])
def test_too_few_workers_are_refused(workers: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        LocalEngine(workers)


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(HipsError, match="worker process died"):
        list(LocalEngine(2).run(die, [1, 2]))


def test_leaving_early_stops_the_workers() -> None:
    before = multiprocessing.active_children()
    results = LocalEngine(2).run(dawdle, [0, 1, 1])
    assert next(results) == (0, 0)
    results.close()
    assert multiprocessing.active_children() == before


def cores_seen(number: int) -> int:
    return cores()


def test_a_worker_process_keeps_one_core_busy() -> None:
    assert cores() == len(os.sched_getaffinity(0))
    assert {found for _, found in LocalEngine(2).run(cores_seen, range(2))} == {1}
