"""`hips models`: lists, and adds to a card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hips.errors import HipsError
from hips.models import bundle
from tests.benchmark.stored import HIPS_EPS, run_line, write
from tests.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a shipped model, whose card can be changed."""
    return shutil.copytree(bundle.shipped_folder() / "sokoban", tmp_path / "model")


def test_cards_are_listed(run: Run) -> None:
    assert "sokoban" in run("models").stdout
    card = json.loads(run("models", "--json").stdout)["sokoban"]
    assert card["scores"]["policy_reach"] > 0.9


def test_results_and_notes_go_to_the_card(run: Run, folder: Path, tmp_path: Path) -> None:
    before = bundle.fingerprint(folder)
    write(tmp_path / "results", [run_line(0, HIPS_EPS, 3, model=before)])
    note = ("--note", "wider networks brought nothing")
    result = run("models", "record", str(folder), "--results", str(tmp_path / "results"), *note)
    assert result.exit_code == 0, result.output
    card = bundle.load(folder).card
    assert card["search"][0]["solved_within"]["5"] == 1.0
    assert card["notes"] == ["wider networks brought nothing"]
    assert bundle.fingerprint(folder) == before


def test_results_of_another_model_are_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "results", [run_line(0, HIPS_EPS, 3, model="another")])
    result = run("models", "record", str(folder), "--results", str(tmp_path / "results"))
    assert isinstance(result.exception, HipsError)
    assert "holds no run" in str(result.exception)
