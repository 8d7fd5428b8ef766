from __future__ import annotations

import json
from pathlib import Path

import pytest

from hips import data, domains, parts
from hips.benchmark.experiments import load
from hips.cli.train import _next_command
from hips.errors import ConfigError, HipsError
from hips.training import run as training
from hips.training.run import TrainingJob
from tests.cli.conftest import Run

SMOKE = ("train", "sokoban", "--size", "smoke")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[TrainingJob]:
    """What would be trained."""
    found: list[TrainingJob] = []

    def refuse(job: TrainingJob) -> None:
        found.append(job)
        raise ConfigError("seen enough")

    monkeypatch.setattr(training, "train", refuse)
    return found


@pytest.mark.parametrize(
    "given",
    [
        ["--stages", "prior.training,dynamics.training"],
        ["--stages", "prior.training", "--stages", "dynamics.training"],
    ],
)
def test_stages_are_listed_or_repeated(run: Run, jobs: list[TrainingJob], given: list[str]) -> None:
    run(*SMOKE, *given)
    assert [job.stages for job in jobs] == [("prior.training", "dynamics.training")]


def test_demonstrations_of_sealed_instances_are_refused(
    run: Run, jobs: list[TrainingJob], tmp_path: Path
) -> None:
    suite = load().suites.get("sliding_tiles")
    domain = suite.make_domain()
    for name, source in (("sealed", suite.on_sealed()), ("free", suite)):
        levels = [one.grid for one in source.instances(2, 0)]
        data.collect(domain, 2, seed=0, out=tmp_path / name, levels=levels)
    result = run("train", "sliding_tiles", "--data", "free", "--data", "sealed")
    assert "2 of the levels are sealed" in str(result.exception)
    assert not jobs
    run("train", "sliding_tiles", "--data", "free")
    assert len(jobs) == 1


def test_an_unknown_stage_is_named_with_those_there_are(run: Run) -> None:
    result = run("train", "sokoban", "--stages", "prior.training,priors")
    assert result.exit_code != 0
    assert "'priors'" in str(result.exception)
    assert "dynamics.training" in str(result.exception)


@pytest.mark.parametrize(
    ("given", "trained"),
    [
        ((), set(parts.defaults())),
        (("--parts", "prior,heuristic"), {"prior", "heuristic"}),
        (("--parts", "prior", "--parts", "heuristic"), {"prior", "heuristic"}),
        (("--segmentation", "detector"), {*parts.defaults(), "detector"}),
    ],
)
def test_parts_are_those_asked_for_or_needed(
    run: Run, jobs: list[TrainingJob], given: tuple[str, ...], trained: set[str]
) -> None:
    run(*SMOKE, *given)
    assert [set(job.trained) for job in jobs] == [trained]


def test_settings_come_from_defaults_then_the_recipe_then_the_command_line(
    run: Run, jobs: list[TrainingJob], tmp_path: Path
) -> None:
    recipe = {
        "format": 2,
        "domain": "sokoban",
        "training": {"horizon": 7, "subgoals.num_codes": 16},
        "settings": {"top_p": 0.9},
    }
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    options = ("--config", "subgoals.num_codes=32", "--segmentation", "exact", "--seed", "5")
    run(*SMOKE, "--recipe", "recipe.json", "--set", "boxes=2", *options)
    (job,) = jobs
    assert (job.config.horizon, job.config.seed) == (7, 5)
    assert job.config.parts["subgoals"].num_codes == 32
    assert job.config.segmentation.method == "exact"
    assert job.settings == {"top_p": 0.9}
    assert job.domain.parameters()["boxes"] == 2
    assert job.out == Path("runs") / "sokoban"


def test_what_to_learn_from(run: Run, jobs: list[TrainingJob], tmp_path: Path) -> None:
    for name in ("a", "b"):
        data.collect(domains.create("sokoban"), 2, seed=0, out=tmp_path / name)
    options = ("--data", "a", "--data", "b", "--labels", "c.npz", "--warm-start", "sokoban")
    run(*SMOKE, *options, "--out", "there", "--resume", "--threads", "1")
    (job,) = jobs
    assert (job.data, job.labels) == ((Path("a"), Path("b")), (Path("c.npz"),))
    assert (job.warm_start, job.resume, job.out) == ("sokoban", True, Path("there"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--size", "huge"), "Unknown size 'huge'. Available: smoke"),
        (("--parts", "priors"), "Unknown part 'priors'. Available: "),
        (("--config", "subgoals.codes=3"), "codes"),
        (("--config", "boxes=2"), "boxes"),
        (("--set", "subgoals.num_codes=3"), "no parameter 'subgoals.num_codes'"),
        (("--segmentation", "magic"), "magic"),
        (("--recipe", "nothing.json"), "nothing.json: no such file"),
        (("--recipe", "tsp.json"), "for 'tsp', not for 'sokoban'"),
        (("--recipe", "old.json"), "old.json: not a recipe"),
    ],
)
def test_bad_input_says_what_is_allowed(
    run: Run, tmp_path: Path, given: tuple[str, ...], message: str
) -> None:
    (tmp_path / "tsp.json").write_text(json.dumps({"format": 2, "domain": "tsp"}))
    (tmp_path / "old.json").write_text(json.dumps({"domain": "sokoban", "stages": {}}))
    error = run("train", "sokoban", *given).exception
    assert isinstance(error, HipsError)
    assert message in str(error)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("given", [("--engine", "ray"), ("--address", "auto")])
def test_a_cluster_without_rounds_is_refused(run: Run, given: tuple[str, str]) -> None:
    result = run("train", "sliding_tiles", "--size", "smoke", *given)
    assert isinstance(result.exception, ConfigError)
    assert "add --rounds" in str(result.exception)
    assert "torchrun" in str(result.exception)


def test_the_next_command_names_what_the_model_was_trained_for() -> None:
    domain = domains.create("sokoban", boxes=2, style="varied")
    command = _next_command([Path("my own.py")], domain, Path("runs/a/model"))
    assert command == (
        "hips solve sokoban --plugin 'my own.py' --set boxes=2 --set style=varied "
        "--model runs/a/model --count 20"
    )
