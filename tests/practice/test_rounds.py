"""Rounds of practice at smoke size: they learn, resume, go easier, and keep the better model."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.toys  # noqa: F401  (registers line_world)
from hips import data, domains, parts
from hips.arrays import Actions
from hips.data import labels as labelled
from hips.data.labels import DEAD_END
from hips.domains.base import Domain
from hips.errors import ConfigError, DatasetError, ExpertError, HipsError
from hips.files import locked, sha256
from hips.models.card import WEIGHTS, read_card
from hips.practice.config import RoundsConfig
from hips.practice.curriculum import next_grade, next_limit
from hips.practice.folder import PracticeFolder, RoundFolder
from hips.practice.journal import Entry, Exam, Journal
from hips.practice.rounds import Practice, PracticeJob, practise
from hips.seeding import stream
from hips.training import scoring
from hips.training.config import default_config, override
from hips.training.run import TrainingJob
from tests.training.conftest import take_few_samples

TILES = domains.create("sliding_tiles", height=2, width=3)
PARTS = ("subgoals", "prior", "heuristic")
STAGES = ("subgoals.continuous", "subgoals.discrete", "prior.training", "heuristic.training")
FEW = RoundsConfig(count=2, teacher="own", levels=8, max_expansions=120, development=6, within=40)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    take_few_samples(monkeypatch)


def first_training(out: Path, **changes: Any) -> TrainingJob:
    short = [f"{stage}.{change}" for stage in STAGES for change in ("steps=4", "validate_every=2")]
    codes = [f"{part}.num_codes=8" for part in ("subgoals", "prior")]
    changed = [*short, *codes, "demonstrations=40"]
    config = override(default_config(TILES, parts.known(PARTS), "smoke"), changed)
    job = TrainingJob(TILES, config, parts.known(PARTS), out, device="cpu", threads=1)
    return replace(job, **changes)


def run(out: Path, rounds: RoundsConfig = FEW, **changes: Any) -> tuple[Path, list[str]]:
    said: list[str] = []
    return practise(PracticeJob(first_training(out, **changes), rounds, message=said.append)), said


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rounds from own solutions."""
    out: Path = tmp_path_factory.mktemp("rounds") / "run"
    with pytest.MonkeyPatch.context() as patch:
        take_few_samples(patch)
        run(out)
    return out


def test_rounds_leave_plans_labels_and_a_history(whole: Path) -> None:
    entries = Journal(whole / "rounds.jsonl").entries
    assert [entry.round for entry in entries] == [0, 1, 2]
    assert entries[0].kept
    assert all(entry.levels == FEW.levels for entry in entries[1:])
    card = read_card(whole / "model")
    assert card.facts["rounds"] == [json.loads(line) for line in lines(whole)]
    assert card.facts["best_round"] == max(entry.round for entry in entries if entry.kept)
    assert (whole / "rounds.png").stat().st_size > 1000


def lines(out: Path) -> list[str]:
    return (out / "rounds.jsonl").read_text().splitlines()


def test_own_solutions_are_plans_and_their_labels_are_upper_bounds(whole: Path) -> None:
    found = data.load(whole / "round-01" / "data")
    ends = found.replay()
    assert TILES.is_goal(ends.states[ends.offsets[1:] - 1]).all()
    labels = labelled.load(whole / "round-01" / "labels.npz", TILES)
    assert (labels.remaining >= 0).any()
    for state, remaining in zip(labels.states[::7], labels.remaining[::7], strict=True):
        if remaining != DEAD_END:
            assert len(TILES.expert(state, stream(0, "check"))) <= remaining


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.mark.parametrize(
    "moment",
    ["train"]
    + [
        pytest.param(other, marks=pytest.mark.slow)
        for other in ("search", "material", "score", "examine", "publish")
    ],
)
def test_a_kill_at_any_step_changes_nothing(
    moment: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model after a kill in the second round and a resumption is the same, bit by bit."""
    where: Any
    where, name = {
        "search": (Practice, "_search"),
        "material": (RoundFolder, "write_material"),
        "train": (Practice, "_train"),
        "examine": (Practice, "_examine"),
        "publish": (PracticeFolder, "publish"),
        "score": (scoring, "score"),
    }[moment]
    original = getattr(where, name)
    calls = 0

    def killed(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if moment == "score" and calls == 3:  # the model is there, its scores are not
            raise Killed
        result = original(*arguments, **options)
        if moment == "publish" or 2 in arguments[1:2] or "round 2" in arguments:
            raise Killed
        return result

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(where, name, killed)
        with pytest.raises(Killed):
            run(out)
    assert calls
    with pytest.raises(ConfigError, match="--resume"):
        run(out)
    model, _ = run(out, resume=True)
    for place in ("model", "round-01/training/model", "round-02/training/model"):
        assert sha256(out / place / WEIGHTS) == sha256(whole / place / WEIGHTS), place
        assert "exam" in read_card(out / place).facts
    assert model == out / "model"
    assert lines(out) == lines(whole)


def test_cards_keep_the_data_of_all_trainings_before(whole: Path) -> None:
    """A round starts from the best model before it, and says what that one learned from."""
    for number in (1, 2):
        facts = read_card(whole / f"round-{number:02d}" / "training" / "model").facts
        depth = 0
        while "before" in facts:
            facts, depth = facts["before"], depth + 1
        assert 1 <= depth <= number
        assert facts["data"]["demonstrations"] == 40


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        (replace(FEW, parts=("verifier",)), "names 'verifier', which is not trained"),
        (replace(FEW, training={"prior.training.pace": 1}), "pace"),
        (replace(FEW, grades=({"height": 3},)), "keep the size"),
    ],
)
def test_wrong_rounds_are_refused_before_the_first_training(
    rounds: RoundsConfig, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(tmp_path / "run", rounds)
    assert not (tmp_path / "run").exists()


def test_a_limit_of_minutes_does_not_go_with_rounds(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not go with rounds"):
        run(tmp_path / "run", limit_minutes=5.0)


def test_rounds_under_torchrun_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="not under torchrun"):
        run(tmp_path / "run")


@pytest.mark.slow
def test_more_rounds_may_follow_and_other_settings_may_not(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    with pytest.raises(ConfigError, match="other settings"):
        run(out, replace(FEW, levels=9), resume=True)
    _, said = run(out, replace(FEW, count=3), resume=True)
    assert len(lines(out)) == 4
    assert not any("round 1" in one for one in said)


def vain(*_: object, **__: object) -> Any:
    raise ExpertError("too hard")


def test_an_expert_that_always_fails_teaches_nothing_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demonstrations = data.collect(TILES, 40, 0, tmp_path / "data")
    assert len(demonstrations) == 40
    kind: type[Domain] = type(TILES)
    monkeypatch.setattr(kind, "expert", vain)
    rounds = replace(FEW, teacher="expert", max_expansions=1)
    model, said = run(tmp_path / "run", rounds, data=[tmp_path / "data"])
    entries = Journal(tmp_path / "run" / "rounds.jsonl").entries
    assert [entry.exam is None for entry in entries] == [False, True, True]
    assert any("nothing to learn" in one for one in said)
    assert read_card(model).facts["best_round"] == 0


@pytest.mark.parametrize(
    ("solved", "grades", "grade", "limit"),
    [
        ([], 3, 0, 120),
        ([8], 3, 1, 120),
        ([8, 8], 3, 2, 120),
        ([8, 8, 8], 3, 2, 120),
        ([8, 3], 3, 1, 120),
        ([8, 0], 3, 0, 120),
        ([0], 3, 0, 240),
        ([0, 0], 3, 0, 480),
        ([0, 0, 1], 3, 0, 120),
    ],
)
def test_the_curriculum_goes_up_after_success_and_down_after_a_round_in_vain(
    solved: list[int], grades: int, grade: int, limit: int
) -> None:
    entries = [Entry(0, exam=Exam(1, 0, 1.0), kept=True)]

    def following() -> tuple[int, int]:
        return next_grade(entries, 0.8, grades), next_limit(entries, 120)

    for number, count in enumerate(solved, start=1):
        chosen, most = following()
        entries.append(Entry(number, chosen, levels=8, solved=count, max_expansions=most))
    assert following() == (grade, limit)


def test_an_exam_prefers_solved_levels_then_fewer_expansions() -> None:
    assert Exam(10, 5, 90.0).beats(Exam(10, 4, 10.0))
    assert Exam(10, 5, 8.0).beats(Exam(10, 5, 9.0))
    assert not Exam(10, 5, 9.0).beats(Exam(10, 5, 9.0))


def test_grades_of_another_size_are_refused() -> None:
    with pytest.raises(ConfigError, match="keep the size"):
        replace(FEW, grades=({"height": 3},)).curriculum(TILES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"teacher": "nobody"}, "Unknown teacher 'nobody'"),
        ({"levels": 0}, "rounds.levels = 0"),
        ({"levels": 10**11}, "rounds.levels is too large"),
        ({"within": 10**400}, "rounds.within is too large"),
        ({"effort": 0.0}, "rounds.effort"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(HipsError, match=message):
        replace(FEW, **changes)


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "1",
        '{"round": 0}',
        '{"round": 1, "kept": true, "exam": {"levels": 1, "solved": 1, "expansions": 1.0}}',
        '{"round": 0, "kept": true, "exam": {"levels": 1}}',
        '{"round": 0, "kept": true, "exam": 3}',
        '{"round": "0", "kept": true}',
        '{"round": 0, "odd": 1}',
        "[" * 100_000,
    ],
)
def test_a_damaged_journal_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "rounds.jsonl").write_text(content + "\n")
    with pytest.raises(DatasetError, match="not a journal of rounds"):
        Journal(tmp_path / "rounds.jsonl")


@pytest.mark.parametrize("content", ["[]", "{}", '{"rounds": 1}', '{"rounds": {"count": []}}'])
def test_damaged_settings_are_other_settings(content: str, tmp_path: Path) -> None:
    (tmp_path / "practice.json").write_text(content)
    with pytest.raises(ConfigError, match="other settings"):
        run(tmp_path, resume=True)


def test_two_processes_cannot_practise_in_one_folder(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(HipsError, match="another process"):
        run(tmp_path)


def test_own_solutions_prove_dead_ends(tmp_path: Path) -> None:
    """In small Sokoban rooms a search meets states without a plan; exhausting them shows it."""
    from hips.methods.choosing import Choice
    from hips.practice.searching import SearchPlan, Workplace, make_tasks, run_tasks
    from hips.practice.teachers import OwnSolutions

    domain = domains.create("sokoban", height=7, width=7, boxes=2)
    plan = SearchPlan("test", 3, 60, Choice(method="low_level"), OwnSolutions(exhausted=3_000))
    lesson = run_tasks(domain, make_tasks(domain, plan, sampled=6), Workplace())
    assert lesson.dead_ends > 0
    dead = lesson.labels.states[lesson.labels.remaining == DEAD_END]
    for state in dead[:5]:
        with pytest.raises(ExpertError):
            domain.expert(state, stream(0, "check"))
    plans: list[Actions] = np.split(lesson.actions, lesson.offsets[1:-1])
    assert len(plans) == len(lesson.starts) > 0
