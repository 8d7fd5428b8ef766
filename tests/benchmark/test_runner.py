from __future__ import annotations

import dataclasses
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hips import methods
from hips.benchmark import lines, report, runner, tasks
from hips.benchmark.experiments import Catalogue, Size
from hips.benchmark.runner import Request, run
from hips.errors import ConfigError, HipsError
from hips.methods import fast_downward
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.settings import Settings
from tests.benchmark.conftest import SIZE, Counter, install
from tests.toys import LineWorld

ROOT = Path(__file__).parents[2]


def request_for(catalogue: Catalogue, *names: str, **changes: Any) -> Request:
    chosen = tuple(catalogue.experiments.get(name) for name in names)
    return Request(chosen, Size(**{**SIZE, **changes}), catalogue=catalogue.content)


def runs(folder: Path) -> list[dict[str, Any]]:
    return [line for line in lines.read(folder / lines.FILE) if line["type"] == "run"]


@pytest.mark.usefixtures("model")
def test_every_method_runs_on_the_toy_world(catalogue: Catalogue, tmp_path: Path) -> None:
    watcher = Counter()
    request = request_for(catalogue, "everything")
    summary = run(request, tmp_path, watcher)
    found = runs(tmp_path)
    configurations = {tasks.key_of(line)[4] for line in found}
    assert summary.written == len(found) == len(watcher.results) == 6 * len(configurations)
    assert summary.cut_short == 0
    allowed = {"SOLVED", "UNSOLVED_INCOMPLETE"}
    # A closed loop may walk until its budget ends.
    assert {one["outcome"] for one in found if one["method"] != "bc"} <= allowed
    assert all(line["outcome"] == "SOLVED" for line in found if line["method"] == "hips_eps")
    # Methods with different names and the same settings are one search.
    assert len(configurations) < len(request.experiments[0].parts[0].rows)
    for line in found:
        result = Result.from_json({**line, "seed": 0})
        method = methods.get(result.provenance.method)
        spelled = method.spell(Settings(**result.provenance.settings))
        assert line["configuration"].removesuffix(" model=paper") == spelled


@pytest.mark.usefixtures("model")
def test_a_second_call_repeats_nothing_and_more_problems_add(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    first = run(request_for(catalogue, "three", problems=3), tmp_path)
    again = run(request_for(catalogue, "three", problems=3), tmp_path)
    more = run(request_for(catalogue, "three", problems=5), tmp_path)
    assert (first.written, again.written, more.written) == (18, 0, 12)
    keys = [tasks.key_of(line) for line in runs(tmp_path)]
    assert len(set(keys)) == len(keys) == 30


@pytest.mark.usefixtures("model")
def test_seeds_draw_other_instances(catalogue: Catalogue, tmp_path: Path) -> None:
    request = request_for(catalogue, "three", problems=4)
    run(dataclasses.replace(request, seeds=(0, 1)), tmp_path)
    by_seed: dict[int, set[str]] = {0: set(), 1: set()}
    for line in runs(tmp_path):
        if line["suite"] == "long":
            by_seed[line["seed"]].add(line["instance"])
    assert by_seed[0] != by_seed[1]


@pytest.mark.usefixtures("model")
def test_a_half_line_is_dropped_and_run_again(catalogue: Catalogue, tmp_path: Path) -> None:
    run(request_for(catalogue, "three"), tmp_path)
    path = tmp_path / lines.FILE
    whole = runs(tmp_path)
    path.write_bytes(path.read_bytes()[:-50])
    assert len(runs(tmp_path)) == len(whole) - 1
    assert run(request_for(catalogue, "three"), tmp_path).written == 1
    found = runs(tmp_path)
    assert {tasks.key_of(line) for line in found} == {tasks.key_of(line) for line in whole}
    assert len(found) == len(whole)


@pytest.mark.usefixtures("model")
def test_timed_runs_are_kept_apart_and_missing_peers_are_skipped(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_downward, "is_installed", lambda: False)
    summary = run(request_for(catalogue, "three", "clock"), tmp_path)
    timed = [line for line in runs(tmp_path) if line["timed"]]
    assert len(timed) == 2 * 3
    assert all(line["limit_seconds"] == 5 and line["limit_expansions"] is None for line in timed)
    reason = "Fast Downward is not installed (pip install 'hips-epsilon[baselines]')"
    assert summary.skipped == ({"suite": "line", "variant": "lama", "reason": reason},)


@pytest.mark.usefixtures("model")
def test_a_peer_is_asked_instance_by_instance(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float | None] = []

    def lama(domain: object, level: object, budget: Budget) -> Result:
        asked.append(budget.max_seconds)
        return Result(Outcome.OUT_OF_TIME)

    monkeypatch.setattr(fast_downward, "is_installed", lambda: True)
    monkeypatch.setattr(fast_downward, "lama", lama)
    summary = run(request_for(catalogue, "clock"), tmp_path)
    assert (asked, summary.skipped[0]["reason"]) == ([], "'line_world' writes no PDDL")
    monkeypatch.setattr(LineWorld, "formats", ("text", "pddl"))
    run(request_for(catalogue, "clock"), tmp_path)
    assert asked == [5, 5]


def test_methods_without_a_model_are_skipped(catalogue: Catalogue, tmp_path: Path) -> None:
    summary = run(request_for(catalogue, "three"), tmp_path)
    assert summary.written == 0
    assert len(summary.skipped) == 6
    assert "no model 'line_world' is installed" in summary.skipped[0]["reason"]


@pytest.mark.usefixtures("model")
def test_time_that_is_over_leaves_runs_open(catalogue: Catalogue, tmp_path: Path) -> None:
    summary = run(request_for(catalogue, "three", minutes=0.0), tmp_path)
    assert (summary.written, summary.cut_short) == (0, 36)
    assert run(request_for(catalogue, "three"), tmp_path).written == 36


@pytest.mark.usefixtures("model")
def test_interrupted_runs_are_not_written(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = runner.Task.line
    seen = []

    def interrupt(task: runner.Task, place: int, result: Result, invocation: str) -> dict[str, Any]:
        seen.append(place)
        if len(seen) == 5:
            raise KeyboardInterrupt
        return original(task, place, result, invocation)

    monkeypatch.setattr(runner.Task, "line", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(request_for(catalogue, "three"), tmp_path)
    assert len(runs(tmp_path)) == 4
    monkeypatch.setattr(runner.Task, "line", original)
    run(request_for(catalogue, "three"), tmp_path)
    keys = [tasks.key_of(line) for line in runs(tmp_path)]
    assert len(set(keys)) == len(keys) == 36
    assert not any(line["outcome"] == "INTERRUPTED" for line in runs(tmp_path))


def test_another_model_is_refused(catalogue: Catalogue, tmp_path: Path, model: Path) -> None:
    run(request_for(catalogue, "three"), tmp_path)
    card = json.loads(model.read_text())
    model.write_text(json.dumps({**card, "notes": ["a card may be added to"]}))
    run(request_for(catalogue, "three"), tmp_path)
    model.write_text(json.dumps({**card, "files": {"policy.onnx": "0"}}))
    with pytest.raises(ConfigError, match="another model"):
        run(request_for(catalogue, "three"), tmp_path)


@pytest.mark.usefixtures("model")
def test_another_version_is_refused(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(request_for(catalogue, "three"), tmp_path)
    monkeypatch.setattr(runner, "__version__", "99.0")
    with pytest.raises(ConfigError, match=r"versions do not mix.*--out"):
        run(request_for(catalogue, "three"), tmp_path)


@pytest.mark.usefixtures("model")
def test_a_changed_level_file_is_refused(catalogue: Catalogue, tmp_path: Path) -> None:
    file = tmp_path / "levels.txt"
    file.write_text("10000000\n\n00100000\n")
    request = request_for(catalogue, "everything")
    experiment = request.experiments[0].restricted((), ("hips_eps",)).with_levels({"line": (file,)})
    request = dataclasses.replace(request, experiments=(experiment,))
    run(request, tmp_path)
    assert {line["level"] for line in runs(tmp_path)} == {"10000000", "00100000"}
    assert runs(tmp_path)[0]["source"] == "levels:levels.txt"
    file.write_text("10000000\n\n00010000\n")
    with pytest.raises(ConfigError, match=r"Instance 1 of suite 'line'.*has changed"):
        run(request, tmp_path)


def test_a_full_disk_is_told() -> None:
    with (
        lines.Appender(Path("/dev/full")) as out,
        pytest.raises(HipsError, match=r"/dev/full: cannot be written \(No space left.*continue"),
    ):
        out.write({"type": "run"})


def test_two_benchmarks_cannot_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / lines.FILE
    with (
        lines.Appender(path),
        pytest.raises(HipsError, match="another process is writing"),
        lines.Appender(path),
    ):
        pass


@pytest.mark.parametrize("place", [5, 12, 20])
def test_damaged_archives_are_named(tmp_path: Path, place: int) -> None:
    path = tmp_path / lines.PACKED
    content = bytearray(gzip.compress(b'{"format": 3}\n' * 100))
    content[place] ^= 0xFF
    path.write_bytes(content[:-9])
    with pytest.raises(HipsError):
        list(lines.read(path))


@pytest.mark.parametrize("text", ["nonsense\n", "[]\n", '{"type": "run"}\n', "\x00\n"])
def test_damaged_files_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / lines.FILE).write_text(text)
    with pytest.raises(HipsError, match="line 1: not a result"):
        list(lines.read(tmp_path / lines.FILE))


KILLED = """
import sys, time
from pathlib import Path
import pytest
from tests.benchmark import conftest, test_runner
from hips.benchmark.experiments import Catalogue
from hips.benchmark.runner import Task, run
from hips.methods import jobs
from hips.models import bundle

folder = Path(sys.argv[1])
bundle.find = lambda name: folder / "model"
jobs.Planner = conftest.line_planner
original = Task.line

calls = 0

def slow(self, *arguments):
    global calls
    calls += 1
    time.sleep(3600 if calls > int(sys.argv[2]) else 0)
    return original(self, *arguments)

Task.line = slow
run(test_runner.request_for(Catalogue(conftest.toy_catalogue()), "three", problems=40), folder)
"""


def test_a_kill_loses_and_repeats_nothing(tmp_path: Path) -> None:
    install(tmp_path / "model")
    path = tmp_path / lines.FILE
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    stuck = [*command, "100"]
    process = subprocess.Popen(stuck, env=environment, stdout=subprocess.DEVNULL)
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < 20):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = path.read_bytes()
    before = before[: before.rindex(b"\n") + 1]
    kept = len(runs(tmp_path))
    assert 10 < kept <= 100
    subprocess.run([*command, "1000"], env=environment, check=True)
    assert path.read_bytes().startswith(before)
    found = runs(tmp_path)
    assert len({tasks.key_of(line) for line in found}) == len(found) == 240
    # What was cut into two calls is what one call would have given.
    whole = tmp_path / "whole"
    install(whole / "model")
    subprocess.run([*command[:-1], str(whole), "1000"], env=environment, check=True)

    def without_times(folder: Path) -> list[str]:
        volatile = ("seconds", "elapsed_seconds", "phases", "invocation", "peak_bytes")
        rows = [{k: v for k, v in line.items() if k not in volatile} for line in runs(folder)]
        return sorted(json.dumps(row) for row in rows)

    assert without_times(whole) == without_times(tmp_path)


def test_a_row_that_cannot_run_any_more_keeps_what_it_has(
    catalogue: Catalogue, tmp_path: Path, model: Path
) -> None:
    def labels() -> list[str]:
        return [row[0] for row in report.build(tmp_path).sections[0].tables[0].rows]

    run(request_for(catalogue, "three"), tmp_path)
    before = labels()
    card = json.loads(model.read_text())
    kept = {name: part for name, part in card["parts"].items() if name != "subgoals"}
    model.write_text(json.dumps({**card, "parts": kept, "settings": {"top_p": 0.5}}))
    summary = run(request_for(catalogue, "three"), tmp_path)
    assert {skip["variant"] for skip in summary.skipped} == {"hips", "hips_eps"}
    assert labels() == before == ["PHS* (low-level), weight 1", "HIPS (high-level)", "HIPS-ε"]


def test_a_method_that_is_not_in_the_catalogue_is_a_row(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    added = catalogue.find_variant("low_level")
    assert "low_level" not in catalogue.methods
    request = request_for(catalogue, "three", problems=3)
    chosen = tuple(one.with_variants((added,)) for one in request.experiments)
    request = dataclasses.replace(request, experiments=chosen, added=(added,))
    summary = run(request, tmp_path)
    assert summary.written == 6
    assert {line["variant"] for line in runs(tmp_path)} == {"low_level"}
    assert run(request, tmp_path).written == 0
    (section,) = report.build(tmp_path).sections
    assert [row[0] for row in section.tables[0].rows] == [methods.get("low_level").label]
