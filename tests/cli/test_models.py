"""`hips models`: lists, checks, and adds to a card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hips.errors import HipsError, ModelError
from hips.models import bundle
from hips.models.bundle import Bundle
from hips.models.card import CARD, read_card
from hips.training import scoring
from tests.benchmark.conftest import LINE_CARD
from tests.benchmark.stored import HIPS_EPS, run_line, write
from tests.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a shipped model, whose card can be changed."""
    return shutil.copytree(bundle.shipped_folder() / "sokoban", tmp_path / "model")


def test_cards_are_listed(run: Run) -> None:
    assert "sokoban" in run("models").stdout
    card = json.loads(run("models", "--json").stdout)["sokoban"]
    assert card["parts"]["reach_policy"]["scores"]["reach"] > 0.9


@pytest.mark.parametrize(("error", "expected"), [(0.0, 0), (0.5, 1)])
def test_scores_are_measured_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: float, expected: int
) -> None:
    claimed = {n: dict(p.scores) for n, p in bundle.load("sokoban").card.parts.items()}
    measured = {**claimed, "reach_policy": {"reach": claimed["reach_policy"]["reach"] - error}}
    asked: list[tuple[int, int]] = []

    def score(loaded: Bundle, known: object, count: int, seed: int) -> dict[str, dict[str, float]]:
        asked.append((count, seed))
        return measured

    monkeypatch.setattr(scoring, "score", score)
    result = run("models", "check", "sokoban", "--json")
    assert result.exit_code == expected
    exam = bundle.load("sokoban").card.facts["exam"]
    assert asked == [(exam["demonstrations"], exam["seed"])]
    differs = ["reach_policy.reach"] if error else []
    assert json.loads(result.stdout) == {"measured": measured, "differs": differs}
    if error:
        assert "not reproduced: reach_policy.reach" in str(result.exception)


PLUGIN = """
from dataclasses import dataclass
from tests.toys import LineWorld
from hips.domains import register

@register("checked_line")
@dataclass(frozen=True)
class Checked(LineWorld):
    pass
"""


def test_a_model_of_a_plug_in_is_checked_with_the_plug_in(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plugged.py").write_text(PLUGIN)
    (tmp_path / "own").mkdir()
    card = {**LINE_CARD, "domain": "checked_line"}
    (tmp_path / "own" / CARD).write_text(json.dumps(card))
    without = run("models", "check", "own").exception
    assert isinstance(without, ModelError)
    assert "checked_line" in str(without)
    assert "--plugin FILE" in str(without)
    found = run("models", "check", "own", "--plugin", "plugged.py").exception
    assert isinstance(found, ModelError)
    assert "no scores to check" in str(found)


def test_results_and_notes_go_to_the_card(run: Run, folder: Path, tmp_path: Path) -> None:
    before = read_card(folder).fingerprint()
    write(tmp_path / "results", [run_line(0, HIPS_EPS, 3, model=before)])
    note = ("--note", "wider networks brought nothing")
    result = run("models", "record", str(folder), "--results", str(tmp_path / "results"), *note)
    assert result.exit_code == 0, result.output
    card = bundle.load(folder).card
    assert card.facts["benchmark"][0]["solved_within"]["5"] == 1.0
    assert card.facts["notes"] == ["wider networks brought nothing"]
    assert read_card(folder).fingerprint() == before


def test_results_of_another_model_are_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "results", [run_line(0, HIPS_EPS, 3, model="another")])
    result = run("models", "record", str(folder), "--results", str(tmp_path / "results"))
    assert isinstance(result.exception, HipsError)
    assert "holds no run" in str(result.exception)
