"""Commands on a Ray cluster of several nodes on this machine: killed, repeated, misled."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hips import domains, plugins
from hips.engines import make_engine
from hips.errors import ModelError
from hips.files import sha256
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob
from hips.methods.streams import solve_on
from hips.models.bundle import shipped_folder
from hips.models.card import WEIGHTS
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver
from hips.seeding import stream
from tests.engines.clusters import node, two_nodes

from .commands import ROOT, Commands
from .verbs import VERBS

ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")
pytestmark = pytest.mark.slow

PLUGIN = """
from dataclasses import dataclass
from hips.domains import register
from hips.domains.sliding_tiles import SlidingTiles

@register("shipped_as_text")
@dataclass(frozen=True)
class Shipped(SlidingTiles):
    '''Tiles from a plug-in.'''
"""
LEVELS = 80
"""Levels of the verb `solve`."""
STARTED = {"solve": "results.jsonl", "bench": "bench/runs.jsonl"}
STARTED |= {"collect": "data/shard-*.npz", "explore": ".labels.npz.parts/part-*.npz"}
STARTED |= {"rounds": "run/round-01/searches/part-*.npz"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as made:
        yield made


def start(words: tuple[str, ...], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "hips", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdout=log,
            stderr=log,
        )


def start_until(words: tuple[str, ...], folder: Path, pattern: str) -> subprocess.Popen[bytes]:
    """A command that has put a part of its results on file."""
    driver = start(words, folder)
    deadline = time.monotonic() + 1800
    while not has_begun(folder, pattern):
        assert time.monotonic() < deadline
        assert driver.poll() is None, (folder / "log").read_text()
        time.sleep(0.01)
    return driver


def has_begun(folder: Path, pattern: str) -> bool:
    """Whether a part of the results is on file: a shard, or more than a first line."""
    return any(
        path.suffix != ".jsonl" or path.read_bytes().count(b"\n") > 1
        for path in folder.glob(pattern)
    )


@pytest.mark.parametrize("name", STARTED)
def test_a_killed_driver_continues(
    cluster: Any, name: str, commands: Commands, tmp_path: Path
) -> None:
    verb = VERBS[name]
    alone, apart = tmp_path / "alone", tmp_path / "apart"
    for folder in (alone, apart):
        folder.mkdir()
        verb.prepare(folder)
    assert commands.run(verb.words, alone) in (0, 1)
    words = (*verb.words, "--engine", "ray", "--address", str(cluster.address))
    driver = start_until(words, apart, STARTED[name])
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert start(words, apart).wait(1800) in (0, 1), (apart / "log").read_text()
    assert "Traceback" not in (apart / "log").read_text()
    assert verb.content(apart) == verb.content(alone)


def test_a_terminated_driver_says_so(cluster: Any, tmp_path: Path) -> None:
    """Ray has a handler of its own for SIGTERM."""
    words = (*VERBS["solve"].words, "--engine", "ray", "--address", str(cluster.address))
    driver = start_until(words, tmp_path, STARTED["solve"])
    driver.send_signal(signal.SIGTERM)
    code, log = driver.wait(600), (tmp_path / "log").read_text()
    assert "Traceback" not in log
    if code == 130:
        assert "interrupted" in log
    else:  # it had ended before the signal came
        assert code in (0, 1), log
        assert len(VERBS["solve"].content(tmp_path)) == LEVELS


def test_a_node_with_another_model_refuses(cluster: Any, tmp_path: Path) -> None:
    other = tmp_path / "models" / "sliding_tiles"
    shutil.copytree(shipped_folder() / "sliding_tiles", other)
    card = json.loads((other / "card.json").read_text())
    (other / WEIGHTS).write_bytes(b"other weights")
    card["files"][WEIGHTS] = sha256(other / WEIGHTS)
    (other / "card.json").write_text(json.dumps(card))
    elsewhere = {"HIPS_MODELS": str(tmp_path / "models")}
    extra = cluster.add_node(**node(4, env_vars=elsewhere))
    tiles = domains.create("sliding_tiles")
    levels = enumerate(tiles.sample(stream(0, "cluster"), 40))
    job = SolveJob(Choice("hips_eps"), Budget(max_expansions=1))
    try:
        with pytest.raises(ModelError, match=r"'sliding_tiles' on the node .* every node"):
            solve_on(make_engine("ray"), tiles, levels, job, ResultObserver(lambda *_: None))
    finally:
        cluster.remove_node(extra)


def test_plugins_travel_as_text(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "shipped_as_text.py"
    file.write_text(PLUGIN)
    plugins.load(file)
    file.unlink()
    tiles = domains.create("shipped_as_text", height=2, width=2)
    found: dict[int, Result] = {}
    levels = enumerate(tiles.sample(stream(0, "cluster"), 8))
    solve_on(make_engine("ray"), tiles, levels, SolveJob(), ResultObserver(found.__setitem__))
    assert sorted(found) == list(range(8))
    assert all(result.solved for result in found.values())
