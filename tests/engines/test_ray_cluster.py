"""Tasks on a real Ray cluster of several nodes on this machine."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hips import data, domains
from hips.engines import LocalEngine, make_engine
from hips.errors import ConfigError, HipsError, LevelError, UnknownNameError
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob
from hips.methods.streams import solve_on
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver
from hips.practice.lessons import Lesson, LessonFiles
from hips.practice.searching import SearchPlan, SearchTask, Workplace, make_tasks, run_tasks
from hips.practice.teachers import OwnSolutions
from tests.planner.test_search import without_times

from .clusters import node, two_nodes

ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")

TILES = domains.create("sliding_tiles", height=2, width=3)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as made:
        yield made


def slow_square(number: int, emit: Callable[[int], None]) -> None:
    time.sleep(0.3)
    emit(number * number)


def fail(number: int, emit: Callable[[int], None]) -> None:
    raise LevelError("odd", line=3)


def solve_all(engine: Any) -> list[dict[str, Any]]:
    levels = TILES.sample(np.random.default_rng(0), 12)
    found: dict[int, Result] = {}
    job = SolveJob(budget=Budget(max_expansions=120), seed=3)
    solve_on(engine, TILES, enumerate(levels), job, ResultObserver(found.__setitem__))
    return [without_times(found[i]) | {"machine": None} for i in range(len(levels))]


def test_results_equal_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    engine = make_engine("ray", address=cluster.address)
    assert solve_all(engine) == solve_all(LocalEngine(1))
    assert "2 nodes" in engine.status()
    apart = data.collect(TILES, 300, 1, tmp_path / "ray", engine=engine)
    alone = data.collect(TILES, 300, 1, tmp_path / "local")
    assert apart.manifest["shards"] == alone.manifest["shards"]


def test_errors_come_through_whole(cluster: Any) -> None:
    with pytest.raises(LevelError, match="line 3: odd"):
        make_engine("ray").run(fail, [1, 2], lambda task, answer: None)


def test_a_node_that_is_lost_costs_nothing_but_time(cluster: Any) -> None:
    extra = cluster.add_node(**node(2))
    found: list[int] = []

    def receive(task: int, answer: int) -> None:
        found.append(answer)
        if len(found) == 3:
            cluster.remove_node(extra, allow_graceful=False)

    make_engine("ray").run(slow_square, range(16), receive)
    assert sorted(found) == [number * number for number in range(16)]


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail_by_the_disk() -> None:
    raise OSError(errno.EIO, "Input/output error")


def run_out_of_memory() -> None:
    raise MemoryError


DEATHS = {
    "killed": kill_this_process,
    "aborted": os.abort,
    "disk": fail_by_the_disk,
    "memory": run_out_of_memory,
}


def die_first(task: tuple[str, Path], emit: Callable[[str], None]) -> None:
    """Dies between two answers, but only the first time."""
    name, folder = task
    emit(f"{name} begins")
    attempts = folder / name
    if not attempts.exists():
        attempts.touch()
        DEATHS.get(name, attempts.touch)()
    emit(f"{name} ends")


def test_a_task_that_dies_is_repeated_and_nothing_comes_twice(cluster: Any, tmp_path: Path) -> None:
    names = ["first", *DEATHS, "last"]
    found: list[str] = []
    tasks = [(name, tmp_path) for name in names]
    make_engine("ray").run(die_first, tasks, lambda task, answer: found.append(answer))
    assert sorted(found) == sorted(
        f"{name} {what}" for name in names for what in ("begins", "ends")
    )


def test_a_task_that_dies_every_time_ends_the_run(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hips.engines.ray_cluster.RETRIES", 1)
    with pytest.raises(HipsError, match=r"lost a task 2 times .* repeat the command"):
        make_engine("ray").run(die_always, [0], lambda task, answer: None)


def die_always(number: int, emit: Callable[[int], None]) -> None:
    kill_this_process()


def arrays(lesson: Lesson) -> list[Any]:
    taught = (lesson.starts, lesson.actions, lesson.offsets, lesson.failed)
    labels = (lesson.labels.states, lesson.labels.remaining)
    return [one.tolist() for one in (*taught, *labels)] + [lesson.levels]


class NoEngine(LocalEngine):
    """Runs nothing."""

    def run(self, work: Any, tasks: Any, receive: Any) -> None:
        assert not list(tasks)


def search(engine: Any, folder: Path) -> Lesson:
    plan = SearchPlan("test", 3, 60, Choice(method="low_level"), OwnSolutions())
    given = list(TILES.sample(np.random.default_rng(1), 5))
    tasks: list[SearchTask] = make_tasks(TILES, plan, given, 12)
    assert len(tasks) == 5
    return run_tasks(TILES, tasks, Workplace(engine, LessonFiles(folder)))


def test_the_searches_of_a_round_teach_the_same(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hips.practice.searching.LEVELS_A_TASK", 4)
    apart = search(make_engine("ray"), tmp_path / "ray")
    assert arrays(apart) == arrays(search(LocalEngine(1), tmp_path / "local"))
    assert arrays(search(NoEngine(), tmp_path / "ray")) == arrays(apart)


@pytest.mark.parametrize("error", [Exception("timed out"), ValueError("no such address")])
def test_a_cluster_that_cannot_be_joined_is_named(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_to_join(**_: Any) -> None:
        raise error

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", fail_to_join)
    with pytest.raises(HipsError, match=f"Cannot join the Ray cluster head:1 .*{error}"):
        make_engine("ray", address="head:1")


def test_wrong_choices_are_named() -> None:
    with pytest.raises(UnknownNameError, match="local, ray"):
        make_engine("slurm")
    with pytest.raises(ConfigError, match="--engine ray"):
        make_engine("local", address="auto")
