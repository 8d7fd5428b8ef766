"""kSubS, AdaSubS, CQL and DT, trained here and used from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hips import domains, methods
from hips.arrays import Floats, Grids
from hips.errors import ConfigError
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models.card import read_card
from hips.parts.verifier.adapter import LearnedVerifier
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.settings import Settings
from hips.planner.validate import is_plan
from tests.cli.conftest import Run
from tests.rivals import PARTS, Rivals, learn_by_heart

OWN = ("ksubs", "ksubs_eps", "adasubs", "adasubs_eps", "cql", "dt")
COMPLETE = ("ksubs_eps", "adasubs_eps")


@pytest.fixture(scope="module")
def rivals(tmp_path_factory: pytest.TempPathFactory) -> Rivals:
    return learn_by_heart(tmp_path_factory.mktemp("rivals"))


@pytest.mark.parametrize("name", OWN)
def test_a_learner_solves_the_ten_levels_that_it_knows_by_heart(name: str, rivals: Rivals) -> None:
    planner = Planner(rivals.domain, Choice(name, model=rivals.folder))
    found = planner.solve_many(rivals.levels, Budget(max_expansions=500))
    assert [result.outcome for result in found] == [Outcome.SOLVED] * len(rivals.levels)
    for level, result in zip(rivals.levels, found, strict=True):
        actions = rivals.domain.spec.action_indices(result.plan)
        assert is_plan(rivals.domain, level, actions)


@pytest.mark.parametrize("name", OWN)
def test_a_rival_solves_from_the_command_line(name: str, rivals: Rivals, run: Run) -> None:
    level = rivals.domain.text(rivals.levels[0])
    options = ("--set", "height=2", "--set", "width=3", "--model", str(rivals.folder))
    result = run(
        "solve", "sliding_tiles", "-l", "-", "--method", name, *options, "--json", stdin=level
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["method"], found["outcome"]) == (name, "SOLVED")


@pytest.mark.parametrize("name", OWN)
def test_a_model_without_the_part_says_how_to_train_it(name: str, run: Run) -> None:
    result = run("solve", "sliding_tiles", "--method", name)
    part = methods.get(name).parts[0]
    assert f"needs the part '{part}'" in str(result.exception)
    assert f"hips train sliding_tiles --parts {part}" in str(result.exception)


def test_the_model_is_listed_with_its_parts(
    rivals: Rivals, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPS_MODELS", str(rivals.folder.parent))
    card = json.loads(run("models", "--json").stdout)["model"]
    assert set(card["parts"]) == set(PARTS)


def test_incomplete_searches_prove_nothing_and_complete_ones_solve_what_is_new(
    rivals: Rivals,
) -> None:
    levels = list(rivals.domain.sample(np.random.default_rng(5), 12))
    for name in ("ksubs", "adasubs", *COMPLETE):
        planner = Planner(rivals.domain, Choice(name, model=rivals.folder))
        outcomes = {result.outcome for result in planner.solve_many(levels, Budget())}
        if name in COMPLETE:
            assert outcomes == {Outcome.SOLVED}
        else:
            assert outcomes <= {Outcome.SOLVED, Outcome.UNSOLVED_INCOMPLETE}


def test_a_verifier_that_always_says_no_stops_only_the_incomplete_search(
    rivals: Rivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(self: LearnedVerifier, states: Grids, subgoals: Grids) -> Floats:
        return np.zeros(len(states))

    monkeypatch.setattr(LearnedVerifier, "probabilities", never)
    for name, expected in (
        ("adasubs", Outcome.UNSOLVED_INCOMPLETE),
        ("adasubs_eps", Outcome.SOLVED),
    ):
        planner = Planner(rivals.domain, Choice(name, model=rivals.folder))
        found = planner.solve_many(rivals.levels[:3], Budget())
        assert {result.outcome for result in found} == {expected}


def test_the_wanted_number_of_steps_is_a_setting(rivals: Rivals, run: Run) -> None:
    choice = Choice("dt", Settings(target_steps=15, max_steps=40), model=rivals.folder)
    result = Planner(rivals.domain, choice).solve_many(rivals.levels[:1], Budget())[0]
    assert result.outcome in (Outcome.SOLVED, Outcome.UNSOLVED_INCOMPLETE)
    assert result.statistics.network_rows == 2 * result.statistics.expansions
    options = ("--method", "dt", "--model", str(rivals.folder))
    empty = run("solve", "sliding_tiles", *options, "--target-steps", "")
    assert empty.exit_code != 0
    negative = run("solve", "sliding_tiles", *options, "--target-steps", "-1")
    assert negative.exit_code != 0
    with pytest.raises(ConfigError, match=r"target_steps = -1 is not in \[0"):
        Settings(target_steps=-1)


def test_a_distance_beyond_every_demonstration_is_refused(run: Run) -> None:
    small = ("--set", "length=4", "--size", "smoke")
    result = run("train", "line_world", *small, "--parts", "ksubs", "--config", "ksubs.distance=50")
    assert "50 steps ahead are beyond every demonstration" in str(result.exception)


@pytest.mark.parametrize(
    ("part", "trained"),
    [
        ("ksubs", {"ksubs", "heuristic"}),
        ("adasubs", {"adasubs", "reach_policy", "verifier", "heuristic"}),
        ("cql", {"cql"}),
        ("dt", {"dt"}),
    ],
)
def test_training_a_part_trains_what_its_method_needs(
    part: str, trained: set[str], run: Run, tmp_path: Path
) -> None:
    """From the command line: data, training, export, scores; then it solves."""
    few = [f"--config={name}.training.steps=2" for name in trained - {"reach_policy"}]
    size = ("--set", "length=6", "--size", "smoke")
    if part == "adasubs":
        few += ["--config=adasubs.near=1", "--config=adasubs.middle=2", "--config=adasubs.far=3"]
    if part == "ksubs":
        few += ["--config=ksubs.distance=2"]
    result = run("train", "line_world", *size, "--parts", part, *few, "--out", "runs/try")
    assert result.exit_code == 0, (result.output, result.exception)
    assert ("also training" in result.output) == (len(trained) > 1)
    card = read_card(tmp_path / "runs/try/model")
    assert set(card.parts) == trained
    assert all(entry.scores for entry in card.parts.values())
    again = run("train", "line_world", *size, "--parts", part, *few, "--out", "runs/try")
    assert "--resume" in str(again.exception)
    world = domains.create("line_world", length=6)
    planner = Planner(world, Choice(part, model=tmp_path / "runs/try/model"))
    found = planner.solve_many(list(world.sample(np.random.default_rng(0), 3)), Budget())
    assert {one.outcome for one in found} <= {Outcome.SOLVED, Outcome.UNSOLVED_INCOMPLETE}


def test_companions_that_the_warm_start_has_are_not_trained_again(rivals: Rivals, run: Run) -> None:
    options = ("--set", "height=2", "--set", "width=3", "--size", "smoke")
    config = ("--config", "ksubs.training.steps=1", "--config", "demonstrations=20")
    result = run(
        "train", "sliding_tiles", *options, "--parts", "ksubs", "--warm-start", str(rivals.folder),
        *config, "--out", "more",
    )  # fmt: skip
    assert result.exit_code == 0, (result.output, result.exception)
    assert "also training" not in result.output
    assert set(read_card(Path("more/model")).parts) == set(PARTS)
