from __future__ import annotations

import json
from pathlib import Path

import pytest

from hips.cli.solve import parse_memory
from hips.errors import ConfigError, HipsError
from tests.cli.conftest import Run

LEVELS = "; first\n00100000\n\n; second\n00010000\n"
FIELDS = {
    "index",
    "outcome",
    "plan",
    "length",
    "expansions",
    "generated",
    "seconds",
    "environment_steps",
    "model_calls",
    "network_calls",
}


def records(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_help_gives_an_example(run: Run) -> None:
    result = run("solve", "--help")
    assert result.exit_code == 0
    assert "hips solve" in result.stdout.split("For example:")[1]


def test_levels_of_a_file_as_json_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "levels.txt").write_text(LEVELS)
    result = run("solve", "line_world", "--levels", "levels.txt", "--json", "--out", "r.jsonl")
    assert result.exit_code == 0
    found = records(result.stdout)
    assert found == records((tmp_path / "r.jsonl").read_text())
    assert [record["index"] for record in found] == [0, 1]
    assert [record["length"] for record in found] == [5, 4]
    assert all(set(record) >= FIELDS for record in found)
    assert found[1]["plan"] == ["right"] * 4


def test_standard_input_and_a_single_plan(run: Run) -> None:
    result = run("solve", "line_world", "--levels", "-", stdin="00000100\n")
    assert result.exit_code == 0
    assert "right right" in result.stdout


def test_fresh_levels_and_the_table(run: Run) -> None:
    first = run("solve", "line_world", "--count", "3", "--seed", "5", "--json")
    again = run("solve", "line_world", "--count", "3", "--seed", "5", "--json")
    plans = [[record["plan"] for record in records(r.stdout)] for r in (first, again)]
    assert plans[0] == plans[1]
    assert records(first.stdout)[0]["seed"] == 5
    table = run("solve", "line_world", "--count", "3").stdout
    assert "3 of 3 solved" in table
    assert "expansions" in table


def test_unsolvable_levels_are_a_proof_and_exit_code_one(run: Run) -> None:
    result = run("solve", "line_world", "--levels", "-", "--json", stdin="00100020\n")
    assert result.exit_code == 1
    assert records(result.stdout)[0]["outcome"] == "unsolvable"
    text = run("solve", "line_world", "--levels", "-", stdin="00100020\n")
    assert "unsolvable" in text.stdout


@pytest.mark.parametrize(
    ("option", "value", "outcome"),
    [
        ("--max-expansions", "1", "out_of_expansions"),
        ("--max-seconds", "0", "out_of_time"),
        ("--max-memory", "0.1K", "out_of_memory"),
    ],
)
def test_limits(run: Run, option: str, value: str, outcome: str) -> None:
    result = run("solve", "line_world", "--levels", "-", option, value, "--json", stdin="00100000")
    assert result.exit_code == 1
    assert records(result.stdout)[0]["outcome"] == outcome


@pytest.mark.parametrize("evaluation", ["levin_ts", "astar", "gbfs", "phs_star"])
def test_options_of_the_search(run: Run, evaluation: str) -> None:
    options = ("--search", "low-level", "--evaluation", evaluation, "--epsilon", "0+")
    more = ("--batch", "2", "--improve", "0.1", "--close-on-generation")
    shares = (
        "--mass",
        "0.5",
        "--confidence",
        "0.8",
        "--hope",
        "0.2",
        "--weight",
        "2",
        "--temperature",
        "2",
        "--horizon",
        "9",
    )
    result = run("solve", "line_world", "--count", "2", *options, *more, *shares, "--json")
    assert result.exit_code == 0


def test_gif(run: Run, tmp_path: Path) -> None:
    assert (
        run("solve", "line_world", "--levels", "-", "--gif", "a.gif", stdin=LEVELS).exit_code == 0
    )
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF")
    run("solve", "line_world", "--levels", "-", "--gif", "b.gif", stdin="00100020\n")
    assert not (tmp_path / "b.gif").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--epsilon", "2"),
        ("--epsilon", "0"),
        ("--max-memory", "much"),
        ("--search", "hips"),
        ("--dynamics", "learned"),
        ("--model", "nowhere"),
        ("--levels", "missing.txt"),
        ("--set", "width=x"),
        ("--mass", "0"),
        ("--mass", "1.5"),
        ("--weight", "0"),
        ("--weight", "nan"),
        ("--confidence", "0"),
        ("--confidence", "1.5"),
        ("--hope", "1"),
        ("--temperature", "0"),
        ("--hope", "-0.1"),
    ],
)
def test_bad_input_is_an_error_for_people(run: Run, options: tuple[str, str]) -> None:
    result = run("solve", "line_world", *options)
    assert isinstance(result.exception, HipsError)


@pytest.mark.parametrize("options", [("--search", "no"), ("--batch", "0"), ("--count", "0")])
def test_bad_usage(run: Run, options: tuple[str, str]) -> None:
    assert run("solve", "line_world", *options).exit_code == 2


def test_a_bad_level_names_its_file_and_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("00100000\n\n0010z000\n")
    result = run("solve", "line_world", "--levels", "bad.txt")
    assert "bad.txt, line 3, column 5" in str(result.exception)


def test_memory_sizes() -> None:
    assert parse_memory("2G") == 2 << 30
    assert parse_memory("1.5 MiB") == 3 << 19
    assert parse_memory("100") == 100
    assert parse_memory(None) is None
    with pytest.raises(ConfigError):
        parse_memory("-1M")
