from __future__ import annotations

import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hips import domains
from hips.cli import demo
from hips.cli.options import parse_parameters, parse_plan
from hips.data import load
from hips.errors import ConfigError, HipsError, LevelError
from hips.planner.outcomes import Outcome
from tests.cli.conftest import Run
from tests.toys import LineWorld

LEVEL = "00100000\n"


def test_version(run: Run) -> None:
    from hips import __version__

    assert run("--version").stdout.strip() == __version__


@pytest.mark.parametrize(
    "verb",
    [
        "domains",
        "methods",
        "sample",
        "show",
        "collect",
        "explore",
        "train",
        "models",
        "demo",
        "export-minari",
        "import-minari",
    ],
)
def test_help_gives_an_example(run: Run, verb: str) -> None:
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"hips {verb}" in result.stdout.split("For example:")[1]


def test_domains_lists_all(run: Run) -> None:
    listed = json.loads(run("domains", "--json").stdout)
    assert [entry["name"] for entry in listed] == list(domains.names())
    assert all(name in run("domains").stdout for name in domains.names())


def test_domains_shows_one(run: Run) -> None:
    described = json.loads(run("domains", "line_world", "--set", "length=5", "--json").stdout)
    assert (described["height"], described["width"]) == (1, 5)
    assert described["parameters"] == {"length": 5, "holes": False}
    assert described["actions"] == ["left", "right"]
    text = run("domains", "line_world").stdout
    assert "horizon=3" in text
    assert text.splitlines()[-1].count("1") == 1


def test_domains_needs_a_name_for_parameters(run: Run) -> None:
    assert run("domains", "--set", "length=5").exit_code == 2


def test_sample_repeats_and_parses(run: Run) -> None:
    first, second = (run("sample", "line_world", "-n", "5", "--seed", "3") for _ in range(2))
    assert first.stdout == second.stdout
    assert len(LineWorld().parse_many(first.stdout)) == 5
    assert run("sample", "line_world", "-n", "5", "--seed", "4").stdout != first.stdout


def test_sample_writes_a_file_or_json(run: Run, tmp_path: Path) -> None:
    result = run("sample", "line_world", "-n", "2", "--out", "a/levels.txt")
    assert result.stdout == ""
    levels = LineWorld().parse_many((tmp_path / "a" / "levels.txt").read_text())
    rows = [
        json.loads(line)
        for line in run("sample", "line_world", "-n", "2", "--json").output.splitlines()
    ]
    assert [row["grid"] for row in rows] == [level.tolist() for level in levels]
    assert rows[1]["index"] == 1


def test_sample_of_an_unknown_format(run: Run) -> None:
    result = run("sample", "line_world", "--format", "xyz")
    assert isinstance(result.exception, ConfigError)
    assert "Available: text" in str(result.exception)


def test_show_prints_levels(run: Run, tmp_path: Path) -> None:
    (tmp_path / "levels.txt").write_text(f"{LEVEL}\n10000000\n")
    result = run("show", "levels.txt", "--domain", "line_world", "--index", "1")
    assert "10000000" in result.stdout
    assert "00100000" not in result.stdout
    both = run("show", "levels.txt", "-d", "line_world", "--json").stdout.splitlines()
    assert [json.loads(line)["text"] for line in both] == ["00100000", "10000000"]
    assert "\x1b[" in run("show", "levels.txt", "-d", "line_world", "--ansi").stdout


def test_show_stops_after_some_levels(run: Run) -> None:
    result = run("show", "-", "-d", "line_world", stdin=f"{LEVEL}\n" * 30)
    assert "20 more" in result.stdout
    assert result.stdout.count("00100000") == 10


def test_show_draws_pictures(run: Run, tmp_path: Path) -> None:
    arguments = ("show", "-", "-d", "line_world", "--png", "a.png", "--gif", "a.gif")
    assert run(*arguments, stdin=LEVEL).exit_code == 0
    assert Image.open(tmp_path / "a.png").size == (480, 60)
    assert Image.open(tmp_path / "a.gif").n_frames == 6  # five steps to the right end
    run("show", "-", "-d", "line_world", "--gif", "b.gif", "--plan", "left, right", stdin=LEVEL)
    assert Image.open(tmp_path / "b.gif").n_frames == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--index", "1"), "holds 1 levels"),
        (("--gif", "a.gif", "--plan", "up"), "Unknown action 'up'"),
        (("--gif", "a.png"), "must end in .gif"),
        (("--png", "a.gif"), "must end in .png"),
    ],
)
def test_show_with_bad_arguments(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run("show", "-", "-d", "line_world", *arguments, stdin=LEVEL)
    assert isinstance(result.exception, HipsError)
    assert message in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_a_plan_without_an_animation(run: Run) -> None:
    assert run("show", "-", "-d", "line_world", "--plan", "left", stdin=LEVEL).exit_code == 2


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("0010", 1, 5), ("00x00000", 1, 3), ("", 1, 1)],
)
def test_bad_levels_name_file_line_and_column(
    run: Run, tmp_path: Path, text: str, line: int | None, column: int | None
) -> None:
    (tmp_path / "bad.txt").write_text(text)
    for verb in (("show", "bad.txt", "-d"), ("collect", "--levels", "bad.txt", "--out", "x")):
        error = run(*verb, "line_world").exception
        assert isinstance(error, LevelError)
        assert (error.source, error.line, error.column) == ("bad.txt", line, column)
    assert not (tmp_path / "x").exists()


def test_a_bad_level_among_good_ones_is_skipped_and_the_exit_code_says_so(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "mixed.txt").write_text(f"; first\n{LEVEL}\n00x\n\n; last\n00100000\n")
    shown = run("show", "mixed.txt", "-d", "line_world", "--json")
    assert [json.loads(line)["title"] for line in shown.stdout.splitlines()] == ["first", "last"]
    collected = run("collect", "line_world", "--levels", "mixed.txt", "-o", "d")
    assert len(load(tmp_path / "d")) == 2
    for result in (shown, collected):
        assert result.exit_code == 2
        assert "line 4, column 4" in result.stderr


def test_own_plans_are_imported_and_bad_lines_refused(run: Run, tmp_path: Path) -> None:
    good = {"level": LEVEL.strip(), "actions": ["right"] * 7}
    bad = {"level": LEVEL.strip(), "actions": ["left"]}
    (tmp_path / "plans.jsonl").write_text("\n".join(json.dumps(one) for one in (good, bad)))
    result = run("collect", "line_world", "--from", "plans.jsonl", "-o", "d")
    assert result.exit_code == 2
    assert "plans.jsonl, line 2: the plan of 1 actions does not reach a goal" in result.stderr
    assert "Only 1 demonstrations" in result.stderr
    assert len(load(tmp_path / "d")) == 1


def test_collect_writes_a_dataset(run: Run, tmp_path: Path) -> None:
    result = run("collect", "line_world", "-n", "30", "--quality", "paper", "-o", "d", "--json")
    manifest = json.loads(result.stdout)
    assert manifest == load(tmp_path / "d").manifest
    assert (manifest["quality"], manifest["counts"]["demonstrations"]) == (0.0, 30)


def test_collect_presets(run: Run, tmp_path: Path) -> None:
    run("collect", "line_world", "-o", "ours")
    run("collect", "line_world", "-o", "papers", "--preset", "paper")
    ours, papers = load(tmp_path / "ours").manifest, load(tmp_path / "papers").manifest
    assert (ours["quality"], ours["counts"]["demonstrations"]) == (1.0, 40)
    assert (papers["quality"], papers["counts"]["demonstrations"]) == (0.0, 40)


def test_collect_from_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LEVEL)
    (tmp_path / "b.txt").write_text("10000000\n\n00000001\n")
    result = run("collect", "line_world", "--levels", "a.txt", "--levels", "b.txt", "-o", "d")
    assert "1 were already solved" in result.output
    assert load(tmp_path / "d").lengths.tolist() == [5, 7]


def test_minari_there_and_back(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    run("collect", "line_world", "-n", "8", "-o", "d")
    assert run("export-minari", "d", "line/expert-v0").exit_code == 0
    imported = run("import-minari", "line_world", "line/expert-v0", "back")
    assert imported.exit_code == 0
    assert "8 demonstrations; 0 episodes reached no goal" in imported.stderr
    np.testing.assert_array_equal(load(tmp_path / "back").starts, load(tmp_path / "d").starts)


def test_demo_solves_and_draws(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "shipped", lambda: ["line_world"])
    result = json.loads(run("demo", "--seed", "3", "--count", "4", "--json").stdout)
    assert result["seed"] == 3
    (row,) = result["rows"]
    assert (row["solved"], row["puzzles"], row["method"]) == (4, 4, demo.EXPERT)
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "line_world.gif",
        "line_world.png",
    }
    assert "--seed" in run("demo", "-n", "1").stdout


def test_demo_counts_what_it_cannot_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    hopeless = np.array([[1, 2, 0, 0, 0, 0, 0, 0]], np.uint8)
    assert demo.solve_by_expert(LineWorld(), hopeless, 0).outcome is Outcome.UNSOLVED_INCOMPLETE
    monkeypatch.setattr(LineWorld, "expert", lambda *_: np.array([0]))
    state = np.array([[1, 0, 0, 0, 0, 0, 0, 0]], np.uint8)
    assert demo.solve_by_expert(LineWorld(), state, 0).outcome is Outcome.UNSOLVED_INCOMPLETE
    row = demo.Row.of(LineWorld(), "m", [demo.solve_by_expert(LineWorld(), state, 0)])
    assert (row.solved, row.mean_length) == (0, None)


def test_only_the_package_s_domains_are_shipped() -> None:
    assert {"sokoban", "sliding_tiles", "box_world", "tsp"} == set(demo.shipped())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("length", "KEY=VALUE"),
        ("=3", "KEY=VALUE"),
        ("length=abc", "'length' must be a whole number, not 'abc'"),
        ("length=3.5", "whole number"),
        ("holes=maybe", "true or false"),
        ("width=3", "no parameter 'width'. Available: length, holes"),
        ("length=1000", "not from 3 to 60"),
    ],
)
def test_bad_settings(run: Run, setting: str, message: str) -> None:
    error = run("sample", "line_world", "--set", setting).exception
    assert isinstance(error, ConfigError)
    assert message in str(error)


def test_good_settings_have_the_type_of_the_parameter() -> None:
    assert parse_parameters(LineWorld(), ["length=5", "holes=True"]) == {"length": 5, "holes": True}


def test_plans_are_read_with_commas_or_spaces() -> None:
    assert parse_plan(LineWorld(), "left,right  left").tolist() == [0, 1, 0]
    assert parse_plan(LineWorld(), "").tolist() == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_explored_states_go_into_a_pipe_and_nothing_beside_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a file beside the pipe")

    monkeypatch.setattr("hips.practice.lessons.LessonFiles.save", refuse)
    size = ("--set", "height=2", "--set", "width=3")
    with ThreadPoolExecutor(1) as reader:
        os.mkfifo("pipe")
        reading = reader.submit(Path("pipe").read_bytes)
        done = run("explore", "sliding_tiles", *size, "-n", "4", "-o", "pipe")
        assert done.exit_code == 0, done.stderr
        content = reading.result()
    with np.load(io.BytesIO(content)) as arrays:
        assert len(arrays["states"]) > 4
    assert os.listdir() == ["pipe"]


def test_explored_states_are_levels_to_collect_from(run: Run) -> None:
    size = ("--set", "height=7", "--set", "width=7", "--set", "boxes=2")
    explored = run(
        "explore", "sokoban", *size, "-n", "4", "-o", "labels.npz", "--max-expansions", "20",
        "--export-levels", "met.txt", "--export-count", "5",
    )  # fmt: skip
    assert explored.exit_code == 0, explored.stderr
    assert "met.txt: 5 levels" in explored.stderr
    found = Path("labels.npz").read_bytes()
    again = run("explore", "sokoban", *size, "-n", "4", "-o", "labels.npz")
    assert isinstance(again.exception, HipsError)
    assert "labels.npz: already exists" in str(again.exception)
    assert Path("labels.npz").read_bytes() == found
    collected = run("collect", "sokoban", "--levels", "met.txt", "-o", "data", "--json")
    assert json.loads(collected.stdout)["counts"]["demonstrations"] == 5
