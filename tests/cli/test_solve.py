from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hips import domains, methods
from hips.cli.groups import parse_memory
from hips.errors import ConfigError, HipsError, ModelError
from hips.models import bundle
from hips.models.card import read_card
from hips.planner.settings import knobs, paper_values, read
from tests.cli.conftest import Run

TILES = "1 0 " + " ".join(str(tile) for tile in range(2, 25)) + "\n"
LEVELS = "; first\n00100000\n\n; second\n00010000\n"
FIELDS = {
    "index",
    "outcome",
    "plan",
    "length",
    "expansions",
    "generated",
    "seconds",
    "elapsed_seconds",
    "environment_steps",
    "dynamics_rows",
    "network_rows",
    "method",
    "settings",
    "model",
    "machine",
    "note",
}


def records(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    return sorted(found, key=lambda record: int(record["index"]))


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
    assert records(result.stdout)[0]["outcome"] == "UNSOLVABLE"
    text = run("solve", "line_world", "--levels", "-", stdin="00100020\n")
    assert "UNSOLVABLE" in text.stdout


@pytest.mark.parametrize(
    ("option", "value", "outcome"),
    [
        ("--max-expansions", "1", "OUT_OF_EXPANSIONS"),
        ("--max-seconds", "0", "OUT_OF_TIME"),
        ("--max-memory", "0.1K", "OUT_OF_MEMORY"),
        ("--max-total-seconds", "0", "OUT_OF_TIME"),
    ],
)
def test_limits(run: Run, option: str, value: str, outcome: str) -> None:
    result = run("solve", "line_world", "--levels", "-", option, value, "--json", stdin="00100000")
    assert result.exit_code == 1
    assert records(result.stdout)[0]["outcome"] == outcome


SEARCH = {
    "evaluation": "astar",
    "epsilon": "0+",
    "dynamics": "hybrid",
    "generator": "learned",
    "top-p": "0.5",
    "prior-temperature": "2",
    "heuristic-weight": "2",
    "min-reach-probability": "0.25",
    "chunk-confidence": "0.8",
    "horizon": "9",
    "precision": "fp32",
    "decoding": "cells",
    "equal-subgoals": "max",
    "rollouts": "late",
    "rollout-retries": "1",
    "width": "2",
    "shares": "nodes",
    "head-start": "50",
    "early-expansions": "3",
    "early-top-p": "0.5",
}


def options_of(values: dict[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (f"--{name}", value)]


def test_options_of_the_search(run: Run) -> None:
    more = (
        "--close-on-generation",
        "--no-pass-goals",
        "--no-legality-check",
        "--batch",
        "2",
        "--improve",
        "0.1",
        "--json",
    )
    given = ("--method", "hips_eps", *options_of(SEARCH), *more)
    result = run("solve", "sliding_tiles", "--levels", "-", *given, stdin=TILES)
    assert result.exit_code == 0, result.output
    (record,) = records(result.stdout)
    assert record["method"] == "hips_eps"
    expected = {name.replace("-", "_"): value for name, value in SEARCH.items()}
    spelled = {name: read(name, value) for name, value in expected.items()}
    flags = {"close_on_generation": True, "pass_goals": False, "legality_check": False}
    assert record["settings"] == {**spelled, **flags}
    assert {*spelled, *flags} == set(methods.get("hips_eps").settings)


@pytest.mark.parametrize("evaluation", ["levin_ts", "astar", "gbfs", "phs_star"])
def test_evaluations(run: Run, evaluation: str) -> None:
    options = ("--method", "phs_star", "--evaluation", evaluation, "--json")
    result = run("solve", "sliding_tiles", "--levels", "-", *options, stdin=TILES)
    assert result.exit_code == 0, result.output
    assert records(result.stdout)[0]["settings"]["evaluation"] == evaluation


def test_the_paper_s_settings_by_name(run: Run) -> None:
    options = ("--settings", "paper", "--top-p", "0.9", "--json")
    (record,) = records(run("solve", "sliding_tiles", "-l", "-", *options, stdin=TILES).stdout)
    paper = paper_values(domains.create("sliding_tiles").preset)
    kept = {name: value for name, value in paper.items() if name in record["settings"]}
    assert record["settings"] == {**kept, "top_p": 0.9, "horizon": record["settings"]["horizon"]}
    error = run("solve", "sliding_tiles", "-l", "-", "--settings", "best", stdin=TILES).exception
    assert "Unknown set of settings 'best'. Available: paper" in str(error)


def test_every_setting_is_an_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = run("solve", "--help").stdout
    for name in knobs():
        assert f"--{name.replace('_', '-')} " in text


SMALL = "1 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"


def test_a_model_that_does_not_suit_the_level_is_left_out_with_a_note(run: Run) -> None:
    size = ("--set", "height=4", "--set", "width=4")
    result = run("solve", "sliding_tiles", *size, "--levels", "-", "--json", stdin=SMALL)
    assert result.exit_code == 0, result.output
    (record,) = records(result.stdout)
    reason = "The model 'sliding_tiles' is made for grids of 5×5, not 4×4"
    assert reason in result.stderr
    assert record["note"] == f"{reason}; searched by the domain's own estimate."
    assert (record["method"], record["model"]) == ("guided", None)
    assert record["plan"] == ["left"]


def test_a_generator_of_the_user_s_choice_replaces_the_model(run: Run) -> None:
    size = ("--set", "height=4", "--set", "width=4")
    options = ("--generator", "expert", "--json")
    result = run("solve", "sliding_tiles", *size, "-l", "-", *options, stdin=SMALL)
    assert result.exit_code == 0, result.output
    (record,) = records(result.stdout)
    assert (record["method"], record["settings"]["generator"]) == ("hips_eps", "expert")
    assert record["note"].endswith("searched without it.")


def test_a_method_that_needs_a_model_of_another_size_says_so(run: Run) -> None:
    size = ("--set", "height=4", "--set", "width=4")
    for options in (("--method", "hips_eps"), ("--model", "sliding_tiles")):
        error = run("solve", "sliding_tiles", *size, "-l", "-", *options, stdin=SMALL).exception
        assert isinstance(error, ModelError)
        assert "made for grids of 5×5, not 4×4" in str(error)
    missing = run("solve", "line_world", "--method", "hips_eps").exception
    assert "none is installed for 'line_world'" in str(missing)


def test_a_model_that_suits_the_level_needs_no_note(run: Run) -> None:
    result = run("solve", "sliding_tiles", "--levels", "-", "--json", stdin=TILES)
    (record,) = records(result.stdout)
    assert (record["method"], record["note"]) == ("portfolio", "")
    assert record["model"] == read_card(bundle.shipped_folder() / "sliding_tiles").fingerprint()
    assert result.stderr == ""  # no empty line of a hidden progress bar either


SIZES = {"line_world": (), "sokoban": ("height=7", "width=7", "boxes=1")}


@pytest.mark.parametrize("name", SIZES)
def test_seconds_are_those_of_each_level_whatever_the_lockstep(run: Run, name: str) -> None:
    size = [word for parameter in SIZES[name] for word in ("--set", parameter)]
    levels = ("solve", name, *size, "--count", "20", "--seed", "1", "--json")
    found = [
        records(run(*levels, "--max-seconds", "30", "--batch", batch).stdout)
        for batch in ("1", "20")
    ]
    one, many = ([(r["outcome"], r["plan"], r["expansions"]) for r in rows] for rows in found)
    assert len(one) == 20
    assert one == many
    assert {outcome for outcome, _, _ in one} == {"SOLVED"}
    # Searches in lockstep divide the time among them; none is charged for the others.
    elapsed = max(record["elapsed_seconds"] for record in found[1])
    assert sum(record["seconds"] for record in found[1]) <= elapsed + 0.01


def test_no_time_at_all_ends_every_level(run: Run) -> None:
    for batch, workers in (("1", "1"), ("20", "1"), ("20", "2")):
        options = ("--max-total-seconds", "0", "--batch", batch, "--workers", workers)
        result = run("solve", "line_world", "--count", "20", *options, "--json")
        assert result.exit_code == 1
        found = records(result.stdout)
        assert [record["outcome"] for record in found] == ["OUT_OF_TIME"] * 20
        assert {record["expansions"] for record in found} == {0}


def test_trees(run: Run, tmp_path: Path) -> None:
    assert run("solve", "line_world", "-l", "-", "--tree", "t.json", stdin=LEVELS).exit_code == 0
    first, second = json.loads((tmp_path / "t.json").read_text())
    assert [tree["nodes"][0]["state"] for tree in (first, second)] == ["00100000", "00010000"]
    assert first["result"]["outcome"] == "SOLVED"
    one = run("solve", "line_world", "-l", "-", "--tree", "t.dot", stdin="00100000\n")
    assert one.exit_code == 0
    assert (tmp_path / "t.dot").read_text().startswith("digraph")
    for options in (("--tree", "u.dot"), ("--tree", "u.json", "--workers", "2")):
        error = run("solve", "line_world", "-l", "-", *options, stdin=LEVELS).exception
        assert isinstance(error, ConfigError)


def test_gif(run: Run, tmp_path: Path) -> None:
    assert (
        run("solve", "line_world", "--levels", "-", "--gif", "a.gif", stdin=LEVELS).exit_code == 0
    )
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF")
    refused = run(
        "solve", "line_world", "--levels", "-", "--gif", "a.png", "--out", "r", stdin=LEVELS
    )
    assert "must end in .gif" in str(refused.exception)
    assert not (tmp_path / "r").exists()  # before the first search
    run("solve", "line_world", "--levels", "-", "--gif", "b.gif", stdin="00100020\n")
    assert not (tmp_path / "b.gif").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--epsilon", "2"),
        ("--epsilon", "0"),
        ("--max-memory", "much"),
        ("--method", "hips"),
        ("--method", "no"),
        ("--evaluation", "no"),
        ("--settings", "no"),
        ("--precision", "int4"),
        ("--dynamics", "learned"),
        ("--model", "nowhere"),
        ("--levels", "missing.txt"),
        ("--set", "width=x"),
        ("--top-p", "0"),
        ("--top-p", "1.5"),
        ("--heuristic-weight", "0"),
        ("--heuristic-weight", "nan"),
        ("--chunk-confidence", "0"),
        ("--chunk-confidence", "1.5"),
        ("--min-reach-probability", "1.1"),
        ("--prior-temperature", "0"),
        ("--min-reach-probability", "-0.1"),
    ],
)
def test_bad_input_is_an_error_for_people(run: Run, options: tuple[str, str]) -> None:
    result = run("solve", "line_world", *options)
    assert isinstance(result.exception, HipsError)


@pytest.mark.parametrize("options", [("--batch", "0"), ("--count", "0"), ("--max-seconds", "-1")])
def test_bad_usage(run: Run, options: tuple[str, str]) -> None:
    assert run("solve", "line_world", *options).exit_code == 2


def test_a_bad_level_names_its_file_and_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("00100000\n\n0010z000\n")
    result = run("solve", "line_world", "--levels", "bad.txt")
    assert result.exit_code == 2
    assert "level 1 cannot be read: bad.txt, line 3, column 5" in result.stderr
    assert "1 of 2 solved" in result.stdout


def test_memory_sizes() -> None:
    assert parse_memory("2G") == 2 << 30
    assert parse_memory("1.5 MiB") == 3 << 19
    assert parse_memory("100") == 100
    assert parse_memory(None) is None
    with pytest.raises(ConfigError):
        parse_memory("-1M")
