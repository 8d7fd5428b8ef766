from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from hips.errors import ConfigError, HipsError, LevelError, is_interrupt
from hips.workers import cores, run


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
    assert sorted(run(square, [1, 2, 3, 4], workers)) == [(1, 1), (2, 4), (3, 9), (4, 16)]


def test_no_tasks() -> None:
    assert list(run(square, [], 4)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_come_through_whole(workers: int) -> None:
    with pytest.raises(LevelError, match=r"levels\.txt, line 3, column 4: odd"):
        list(run(fail, [1, 2], workers))


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(HipsError, match="worker process died"):
        list(run(die, [1, 2], 2))


def test_leaving_early_stops_the_workers() -> None:
    before = multiprocessing.active_children()
    results = run(dawdle, [0, 1, 1], 2)
    assert next(results) == (0, 0)
    results.close()
    assert multiprocessing.active_children() == before


def test_ctrl_c_is_recognised_inside_kernels() -> None:
    wrapped = SystemError("returned a result with an exception set")
    wrapped.__cause__ = KeyboardInterrupt()
    assert is_interrupt(wrapped)
    assert is_interrupt(KeyboardInterrupt())
    assert not is_interrupt(SystemError("other"))
    assert not is_interrupt(ConfigError("other"))


def cores_seen(number: int) -> int:
    return cores()


def test_a_worker_process_keeps_one_core_busy() -> None:
    assert cores() == len(os.sched_getaffinity(0))
    assert {found for _, found in run(cores_seen, range(2), 2)} == {1}
