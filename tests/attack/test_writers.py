"""Two writers, and planners in forked processes, threads and spawned processes."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hips.errors import HipsError
from hips.files import locked
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from tests.planner.test_search import without_times

from .commands import Commands
from .families import family
from .verbs import VERBS

PLACES = {"solve": "results.jsonl", "bench": "bench/runs.jsonl", "collect": "data"}
PLACES |= {"explore": ".labels.npz.parts", "train": "run", "rounds": "run"}


def is_locked(place: Path) -> bool:
    """Whether a process holds the lock of a file or folder; looking does not touch the lock."""
    locks = Path("/proc/locks").read_text()
    return place.exists() and re.search(rf":{place.stat().st_ino} ", locks) is not None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not list its locks")
@pytest.mark.parametrize("name", VERBS)
def test_a_second_writer_is_refused(name: str, commands: Commands, tmp_path: Path) -> None:
    verb = VERBS[name]
    verb.prepare(tmp_path)
    first = commands.start(verb.words, tmp_path)
    deadline = time.monotonic() + 300
    while not is_locked(tmp_path / PLACES[name]):  # a place exists before its lock does
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(first, signal.SIGSTOP)
    assert commands.run(verb.words, tmp_path) == 2
    assert "another process is writing here" in (tmp_path / "log").read_text()
    os.kill(first, signal.SIGCONT)
    assert commands.end(first) in (0, 1)


def test_a_locked_folder_refuses_others_and_leaves_nothing(tmp_path: Path) -> None:
    with locked(tmp_path / "new"):
        (tmp_path / "new" / "file").touch()
        with pytest.raises(HipsError, match="another process"), locked(tmp_path / "new"):
            raise AssertionError("two writers")
    assert (tmp_path / "new" / "file").exists()
    with locked(tmp_path / "empty"):
        assert (tmp_path / "empty").is_dir()
    assert not (tmp_path / "empty").exists()


def facts(name: str) -> list[dict[str, object]]:
    """Results of a planner that is made and used in this process or thread."""
    problems = family(name)
    planner = Planner(problems.domain)
    found = planner.solve_many(list(problems.starts[:12]), Budget(max_expansions=200))
    return [without_times(result) | {"machine": None} for result in found]


NAMES = ("sliding_tiles", "sokoban")


def test_threads_give_the_same_results() -> None:
    expected = [facts(name) for name in NAMES]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(facts, NAMES * 4)) == expected * 4


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_give_the_same_results(method: str) -> None:
    expected = [facts(name) for name in NAMES]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(facts, NAMES).get(timeout=300) == expected
