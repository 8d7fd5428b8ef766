from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator

import pytest

from hips.engines import LocalEngine
from hips.engines.base import Work
from hips.errors import ConfigError, HipsError, LevelError
from hips.machine import cores

Emit = Callable[[int], None]


def square(number: int, emit: Emit) -> None:
    emit(number * number)


def fail(number: int, emit: Emit) -> None:
    if number == 1:
        raise LevelError("odd", line=3, column=4, source="levels.txt")
    emit(number)


def emit_and_die(number: int, emit: Emit) -> None:
    emit(number)
    emit(number)
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def dawdle(number: int, emit: Emit) -> None:
    emit(number)
    time.sleep(3600 if number else 0)


def run(engine: LocalEngine, work: Work[int, int], tasks: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    engine.run(work, tasks, lambda task, answer: found.append((task, answer)))
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once(workers: int) -> None:
    engine = LocalEngine(workers)
    assert engine.parallel == workers
    assert sorted(run(engine, square, [1, 2, 3, 4])) == [(1, 1), (2, 4), (3, 9), (4, 16)]


def test_no_tasks() -> None:
    assert run(LocalEngine(4), square, []) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_come_through_whole(workers: int) -> None:
    with pytest.raises(LevelError, match=r"levels\.txt, line 3, column 4: odd"):
        run(LocalEngine(workers), fail, [1, 2])


@pytest.mark.parametrize("workers", [0, -1])
def test_too_few_workers_are_refused(workers: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        LocalEngine(workers)


def test_a_worker_that_dies_is_reported_and_its_answers_are_kept() -> None:
    found: list[int] = []
    with pytest.raises(HipsError, match="worker process died"):
        LocalEngine(2).run(emit_and_die, [1, 3], lambda _, answer: found.append(answer))
    assert found.count(1) == 2


def stop(task: int, answer: int) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_stops_the_workers() -> None:
    before = multiprocessing.active_children()
    with pytest.raises(KeyboardInterrupt):
        LocalEngine(2).run(dawdle, [0, 1, 1], stop)
    assert multiprocessing.active_children() == before


def test_answers_arrive_while_their_task_still_runs() -> None:
    found: list[int] = []

    def receive(task: int, answer: int) -> None:
        found.append(answer)
        if len(found) == 2:  # both tasks sleep for an hour now
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalEngine(2).run(dawdle, [1, 2], receive)
    assert sorted(found) == [1, 2]


def test_tasks_are_taken_when_they_are_needed() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    def receive(task: int, answer: int) -> None:
        raise HipsError("enough")

    with pytest.raises(HipsError, match="enough"):
        LocalEngine(2).run(square, tasks(), receive)
    assert len(taken) <= 4


def cores_seen(number: int, emit: Emit) -> None:
    emit(cores())


def test_a_worker_process_keeps_one_core_busy() -> None:
    assert cores() == len(os.sched_getaffinity(0))
    assert {found for _, found in run(LocalEngine(2), cores_seen, range(2))} == {1}
