"""What people see: the watched search, lines per level, and the help in groups."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live
from typer.testing import CliRunner

import hips
from hips import domains
from hips.cli import PANELS, app
from hips.cli.boards import board, has_colours
from hips.cli.summary import Summary, line
from hips.cli.watch import Watcher

RECORD = {"outcome": "SOLVED", "length": 4, "expansions": 1, "seconds": 0.5, "message": ""}


def summarise(given: list[dict[str, Any]]) -> Summary:
    summary = Summary()
    for record in given:
        summary.add(record)
    return summary


def records(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [{**RECORD, "index": i, "plan": ["up"] * 4, **changes} for i in range(count)]


def test_the_watcher_follows_a_search_to_its_goal() -> None:
    tiles = domains.create("sliding_tiles", height=3, width=3)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    with Live(console=console, auto_refresh=False) as live:
        recorder = hips.TreeRecorder(tiles)
        watcher = Watcher(tiles, 1, live, [recorder])
        result = hips.Planner(tiles).solve("1 2 5 3 4 0 6 7 8", observer=watcher)
    assert watcher.expansions == result.statistics.expansions == recorder.trees[0].expansions
    assert watcher.best == 0.0
    assert "1 of 1 solved" in screen.getvalue()


@pytest.mark.parametrize("colours", [True, False])
def test_boards_are_text_where_there_are_no_colours(colours: bool) -> None:
    tiles = domains.create("sliding_tiles", height=3, width=3)
    level = tiles.parse("1 2 5 3 4 0 6 7 8")
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=not colours
    )
    assert has_colours(console) == colours
    shown = board(console, tiles, level, 3, has_colours(console)).plain
    assert ("▀" in shown) == colours
    assert (tiles.text(level) == shown) != colours


def test_watch_leaves_stdout_to_the_results() -> None:
    found = CliRunner().invoke(app, ["solve", "sliding_tiles", "--watch", "--json"])
    assert found.exit_code == 0
    assert found.stdout.startswith("{")
    parallel = CliRunner().invoke(app, ["solve", "sliding_tiles", "--watch", "--workers", "2"])
    assert "one worker" in str(parallel.exception)


def test_one_is_singular() -> None:
    assert line(records(1)[0]) == "level 0: SOLVED, 4 steps, 1 expansion, 0.50 s"


def test_long_files_list_the_unsolved(capsys: pytest.CaptureFixture[str]) -> None:
    lost = {"index": 40, "outcome": "OUT_OF_TIME", "length": None}
    summarise([*records(40), {**RECORD, **lost}]).print()
    out = capsys.readouterr().out
    assert "level 40: OUT_OF_TIME" in out
    assert "level 3:" not in out
    assert "40 of 41 solved" in out


def test_a_drawn_level_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    summarise(records(1)).print("[#]")
    assert capsys.readouterr().out.startswith("[#]\nSOLVED in 4 steps (1 expansion")


def test_every_verb_has_a_group() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    assert all(f"─ {panel} ─" in shown for panel in PANELS)


def test_the_main_options_come_first() -> None:
    shown = CliRunner().invoke(app, ["solve", "--help"]).output
    options, settings = shown.split("─ Options ─")[1].split("─ Search settings ─")
    assert sum(row.startswith("│ --") for row in options.splitlines()) <= 12
    assert "--top-p" in settings
    assert "--threads" in settings


def test_models_fit_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(app, ["models"]).output
    assert max(len(row) for row in shown.splitlines()) <= 80
    assert "…" not in shown
