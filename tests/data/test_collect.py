from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hips.data import collect, load
from hips.data.shards import SHARD_SIZE, read_shard
from hips.domains import Actions, Grid
from hips.domains.handles import DomainHandle
from hips.engines import LocalEngine
from hips.errors import ConfigError, ContractError, DatasetError
from tests.toys import LineWorld

ROOT = Path(__file__).parents[2]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_number_of_workers_does_not_matter(tmp_path: Path) -> None:
    for workers in (1, 2):
        out = tmp_path / str(workers)
        collect(
            LineWorld(holes=True), 600, seed=5, out=out, quality=0.3, engine=LocalEngine(workers)
        )
    assert files(tmp_path / "1") == files(tmp_path / "2")
    assert len(files(tmp_path / "1")) == 4


def test_another_seed_is_another_dataset(tmp_path: Path) -> None:
    first = collect(LineWorld(length=30), 50, seed=1, out=tmp_path / "a")
    second = collect(LineWorld(length=30), 50, seed=2, out=tmp_path / "b")
    assert not np.array_equal(first.starts, second.starts)


def test_quality_is_recorded_and_matters(tmp_path: Path) -> None:
    best = collect(LineWorld(), 100, seed=1, out=tmp_path / "a", quality=1.0)
    worst = collect(LineWorld(), 100, seed=1, out=tmp_path / "b", quality=0.0)
    assert worst.lengths.mean() > best.lengths.mean() + 2
    assert (best.manifest["quality"], worst.manifest["quality"]) == (1.0, 0.0)


def test_levels_the_expert_fails_on_are_replaced_and_counted(tmp_path: Path) -> None:
    dataset = collect(LineWorld(holes=True), 100, seed=1, out=tmp_path / "a")
    levels = dataset.manifest["levels"]
    assert len(dataset) == 100
    assert levels["expert_failed"] > 0
    assert levels["tried"] == 100 + levels["expert_failed"]


def test_plans_that_are_too_long_are_replaced_and_counted(tmp_path: Path) -> None:
    free = collect(LineWorld(), 100, seed=1, out=tmp_path / "a", quality=0.0)
    capped = collect(LineWorld(), 100, seed=1, out=tmp_path / "b", quality=0.0, longest=12)
    assert free.lengths.max() > 12
    assert len(capped) == 100
    assert capped.lengths.max() <= 12
    levels = capped.manifest["levels"]
    assert levels["too_long"] == levels["tried"] - 100 > 0
    with pytest.raises(DatasetError, match="another dataset"):
        collect(LineWorld(), 100, seed=1, out=tmp_path / "b", quality=0.0, longest=13)


def test_given_levels_are_kept_in_order_without_the_hopeless_and_the_solved(
    tmp_path: Path,
) -> None:
    solvable, hopeless, solved = (np.zeros((1, 8), np.uint8) for _ in range(3))
    solvable[0, 3] = 1
    hopeless[0, 3:5] = (1, 2)
    solved[0, 7] = 1
    levels = [solvable, hopeless, solved, solvable]
    dataset = collect(LineWorld(), 4, seed=1, out=tmp_path / "a", levels=levels)
    assert dataset.starts.tolist() == [solvable.tolist()] * 2
    counted = {"tried": 4, "expert_failed": 1, "already_solved": 1, "too_long": 0}
    assert dataset.manifest["levels"] == counted
    assert load(tmp_path / "a").lengths.tolist() == [4, 4]


def test_nothing_but_hopeless_levels(tmp_path: Path) -> None:
    hopeless = np.array([[1, 2, 0, 0, 0, 0, 0, 0]], np.uint8)
    with pytest.raises(DatasetError, match="of 1 levels, the expert failed on 1"):
        collect(LineWorld(), 1, seed=1, out=tmp_path / "a", levels=[hopeless])
    assert not (tmp_path / "a").exists()


def test_resuming_keeps_finished_shards_and_gives_the_same(tmp_path: Path) -> None:
    collect(LineWorld(), 600, seed=1, out=tmp_path / "whole")
    out = tmp_path / "broken"
    collect(LineWorld(), 600, seed=1, out=out)
    (out / "manifest.json").unlink()
    (out / "shard-00001.npz").unlink()
    kept = (out / "shard-00000.npz").stat().st_mtime_ns
    seen: list[tuple[int, int]] = []
    collect(
        LineWorld(), 600, seed=1, out=out, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(344, 600), (600, 600)]
    assert (out / "shard-00000.npz").stat().st_mtime_ns == kept
    assert files(out) == files(tmp_path / "whole")


def test_a_damaged_shard_is_named_and_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "data"
    collect(LineWorld(), 300, seed=1, out=out)
    before = files(out)
    shard = out / "shard-00001.npz"
    shard.write_bytes(before["shard-00001.npz"][:500])
    with caplog.at_level(logging.WARNING):
        collect(LineWorld(), 300, seed=1, out=out)
    assert "shard-00001.npz" in caplog.text
    assert files(out) == before


def test_a_larger_count_extends_a_dataset(tmp_path: Path) -> None:
    collect(LineWorld(), 300, seed=1, out=tmp_path / "grown")
    collect(LineWorld(), 700, seed=1, out=tmp_path / "grown")
    collect(LineWorld(), 700, seed=1, out=tmp_path / "fresh")
    assert files(tmp_path / "grown") == files(tmp_path / "fresh")
    with pytest.raises(DatasetError, match="larger"):
        collect(LineWorld(), 200, seed=1, out=tmp_path / "grown")


def test_a_folder_of_other_data_is_left_alone(tmp_path: Path) -> None:
    collect(LineWorld(), 20, seed=1, out=tmp_path / "data")
    before = files(tmp_path / "data")
    with pytest.raises(DatasetError, match="seed is 1, not 2"):
        collect(LineWorld(), 20, seed=2, out=tmp_path / "data")
    with pytest.raises(DatasetError, match="another dataset"):
        collect(LineWorld(holes=True), 20, seed=1, out=tmp_path / "data")
    assert files(tmp_path / "data") == before
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="is a file"):
        collect(LineWorld(), 20, seed=1, out=tmp_path / "file")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, "at least 1"),
        ({"quality": 1.5}, "Quality"),
        ({"quality": float("nan")}, "Quality"),
    ],
)
def test_bad_settings(tmp_path: Path, change: dict[str, float], message: str) -> None:
    settings = {"count": 1, "seed": 0, "out": tmp_path / "data", **change}
    with pytest.raises(ConfigError, match=message):
        collect(LineWorld(), **settings)  # type: ignore[arg-type]
    assert not (tmp_path / "data").exists()


def test_too_few_levels(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="only 0 given"):
        collect(LineWorld(), 1, seed=0, out=tmp_path / "data", levels=[])


def test_a_plan_that_misses_the_goal_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lazy(self: LineWorld, state: Grid, rng: np.random.Generator, quality: float) -> Actions:
        return np.zeros(3, dtype=np.int64)

    monkeypatch.setattr(LineWorld, "expert", lazy)
    with pytest.raises(ContractError, match="does not reach a goal"):
        collect(LineWorld(), 3, seed=0, out=tmp_path / "data")
    monkeypatch.setattr(LineWorld, "expert", lambda *_: np.array([7]))
    with pytest.raises(ContractError, match="unknown action"):
        collect(LineWorld(), 3, seed=0, out=tmp_path / "data")


def test_an_unregistered_domain_is_refused() -> None:
    class Nameless(LineWorld):
        name = "nameless"

    with pytest.raises(ConfigError, match="not registered"):
        DomainHandle.of(Nameless())


SLOW_PLUGIN = """
import os
import time
from dataclasses import dataclass
from hips.domains import register
from tests.toys import LineWorld

calls = 0

@register("slow_line")
@dataclass(frozen=True)
class SlowLine(LineWorld):
    def expert(self, state, rng, quality=1.0):
        global calls
        calls += 1
        if calls > int(os.environ["CALLS"]):
            time.sleep(3600)
        return super().expert(state, rng, quality)
"""


def test_a_killed_collection_leaves_no_process_and_resumes(tmp_path: Path) -> None:
    plugin, out = tmp_path / "slow_line.py", tmp_path / "data"
    plugin.write_text(SLOW_PLUGIN)
    command = [sys.executable, "-m", "hips", "collect", "slow_line", "--plugin", str(plugin)]
    command += ["--count", "1500", "--seed", "4", "--workers", "2", "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CALLS": str(SHARD_SIZE + 50)}
    process = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 600
    while not list(out.glob("shard-*.npz")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert 0 < len(list(out.glob("shard-*.npz"))) < 6
    while _members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _members(process.pid)
    environment["CALLS"] = "1500"
    subprocess.run(command, env=environment, check=True, capture_output=True)
    expected = collect(LineWorld(), 1500, seed=4, out=tmp_path / "expected")
    shards = [read_shard(path) for path in sorted(out.glob("shard-*.npz"))]
    np.testing.assert_array_equal(np.concatenate([s.starts for s in shards]), expected.starts)
    np.testing.assert_array_equal(np.concatenate([s.actions for s in shards]), expected.actions)
    assert (out / "manifest.json").exists()
    assert not list(out.glob(".*"))


def _members(leader: int) -> list[int]:
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                members.append(int(entry.name))
    return members
