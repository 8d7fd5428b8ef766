"""Tasks on a real Ray cluster of several nodes on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hips import data, domains
from hips.engines import LocalEngine, make_engine
from hips.errors import ConfigError, LevelError, UnknownNameError
from hips.methods.jobs import SolveJob, solve_on
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver
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


def test_wrong_choices_are_named() -> None:
    with pytest.raises(UnknownNameError, match="local, ray"):
        make_engine("slurm")
    with pytest.raises(ConfigError, match="--engine ray"):
        make_engine("local", address="auto")
