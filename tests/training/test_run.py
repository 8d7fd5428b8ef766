"""Whole trainings: from a domain to a scored model, interrupted, in part, and step by step."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tests.toys  # noqa: F401  (registers line_world)
from hips import domains, methods, parts
from hips.errors import ConfigError, DatasetError, ModelError, UnknownNameError
from hips.files import sha256
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models import bundle
from hips.models.card import CARD, WEIGHTS, Card, read_card
from hips.seeding import stream
from hips.training import scoring
from hips.training.config import TrainingConfig, default_config, override
from hips.training.loop import StageRun
from hips.training.run import TrainedRun, TrainingJob, train
from tests.training.conftest import SHIPPED, STAGES, take_few_samples

LINE = domains.create("line_world")
EXAMPLE = Path(__file__).parents[2] / "examples" / "lights_out.py"


def line_config(*names: str, steps: int = 6) -> TrainingConfig:
    """A short training of some parts, of all that ship by default."""
    chosen = names or SHIPPED
    short = [
        f"{stage}.{change}"
        for stage in STAGES
        if stage.split(".")[0] in chosen
        for change in (f"steps={steps}", f"validate_every={steps // 2}")
    ]
    return override(default_config(LINE, parts.known(chosen), "smoke"), short)


def line_job(out: Path, *names: str, **changes: Any) -> TrainingJob:
    job = TrainingJob(LINE, line_config(*names), parts.known(SHIPPED), out, device="cpu", threads=1)
    return replace(job, **changes)


def same_weights(first: Mapping[str, nn.Module], second: Mapping[str, nn.Module]) -> bool:
    """Whether the parts that both have are the same, bit by bit."""
    return all(
        torch.equal(value, second[part].state_dict()[name])
        for part in first
        if part in second
        for name, value in first[part].state_dict().items()
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainedRun, Path]:
    """A training of all parts that ship."""
    folder: Path = tmp_path_factory.mktemp("line")
    with pytest.MonkeyPatch.context() as patch:
        take_few_samples(patch)
        return train(line_job(folder, settings={"top_p": 0.9}, command="hips train")), folder


def card_of(whole: tuple[TrainedRun, Path]) -> Card:
    assert whole[0].card is not None
    return whole[0].card


def test_a_training_returns_what_it_wrote(whole: tuple[TrainedRun, Path]) -> None:
    run, folder = whole
    model = folder / "model"
    card = card_of(whole)
    assert set(run.reports) == set(STAGES)
    assert set(run.networks) == set(SHIPPED)
    assert read_card(model).to_json() == json.loads(json.dumps(card.to_json()))
    assert {path.name for path in model.iterdir()} == {CARD, *card.files}
    assert all(sha256(model / name) == digest for name, digest in card.files.items())
    assert card.settings == {"top_p": 0.9}
    assert card.facts["data"]["command"] == "hips train"
    assert card.facts["data"]["demonstrations"] == 300
    assert (folder / "curves.png").exists()
    for part, entry in card.parts.items():
        stages = [stage for stage in STAGES if stage.split(".")[0] == part]
        assert [f"{part}.{stage}" for stage in entry.training] == stages
        assert all(stage["steps"] == 6 for stage in entry.training.values())
        assert entry.graphs
        assert entry.weights == part


def test_a_training_returns_a_scored_card(whole: tuple[TrainedRun, Path]) -> None:
    card = card_of(whole)
    for name, entry in card.parts.items():
        assert parts.get(name).headline in entry.scores, name
        assert all(np.isfinite(value) for value in entry.scores.values()), name
    exam = card.facts["exam"]
    assert exam["demonstrations"] == scoring.DEFAULT_DEMONSTRATIONS
    assert exam["seed"] == scoring.DEFAULT_SEED
    assert 1.0 <= exam["length"] <= LINE.preset.horizon


@pytest.mark.usefixtures("few_samples")
def test_the_scores_are_those_of_the_written_model(whole: tuple[TrainedRun, Path]) -> None:
    scores = scoring.score(bundle.load(whole[1] / "model"), parts.known())
    assert {name: dict(one.scores) for name, one in card_of(whole).parts.items()} == {
        name: scores[name] for name in SHIPPED
    }


def test_a_trained_model_solves(whole: tuple[TrainedRun, Path]) -> None:
    planner = Planner(LINE, Choice(model=whole[1] / "model"))
    results = planner.solve_many(list(LINE.sample(stream(0, "solved"), 4)))
    assert all(result.solved for result in results)
    assert {result.provenance.method for result in results} == {"hips_eps"}
    assert results[0].provenance.settings["top_p"] == 0.9
    assert results[0].provenance.model == card_of(whole).fingerprint()


@pytest.mark.usefixtures("few_samples")
def test_the_weights_of_a_part_do_not_depend_on_what_else_is_trained(
    whole: tuple[TrainedRun, Path], tmp_path: Path
) -> None:
    """Except for parts that begin with what others have learned."""
    alone = train(line_job(tmp_path / "alone", "dynamics", data=[whole[1] / "data"]))
    other = train(line_job(tmp_path / "other", "heuristic", data=[whole[1] / "data"]))
    assert same_weights(alone.networks, whole[0].networks)
    assert not same_weights(other.networks, whole[0].networks)  # here it had no prior


@pytest.mark.usefixtures("few_samples")
@pytest.mark.parametrize(
    ("part", "graph", "lacking"),
    [
        ("heuristic", "heuristic", {"hips_eps": "subgoals", "phs_star": "prior", "bc": "prior"}),
        ("reach_policy", "policy", {"hips_eps": "subgoals", "hips": "subgoals", "bc": "prior"}),
    ],
)
def test_a_model_of_one_part(
    part: str, graph: str, lacking: Mapping[str, str], tmp_path: Path
) -> None:
    run = train(line_job(tmp_path, part))
    assert run.card is not None
    assert set(run.card.parts) == {part}
    assert parts.get(part).headline in run.card.parts[part].scores
    loaded = bundle.load(tmp_path / "model", LINE)
    assert set(loaded.card.files) >= {WEIGHTS, f"{graph}.onnx"}
    runtime = loaded.runtime()
    assert graph in runtime
    with pytest.raises(ModelError, match=f"no graph 'prior'. It has: {graph}"):
        runtime.call("prior", {})
    for method, missing in lacking.items():
        message = rf"'{method}' needs the part '{missing}'.*It has: {part}\."
        with pytest.raises(ModelError, match=message):
            Planner(LINE, Choice(method=method, model=tmp_path / "model"))
    # Without a method the planner takes one that does with what there is.
    planner = Planner(LINE, Choice(model=tmp_path / "model"))
    result = planner.solve(LINE.sample(stream(0, "one part"), 1)[0])
    assert result.solved
    assert not set(methods.get(str(result.provenance.method)).parts) - {part}


def test_a_part_without_subgoals_needs_no_segmenter(tmp_path: Path) -> None:
    """The heuristic is trained and scored, although nothing here could cut by the policy."""
    config = override(line_config("heuristic"), ["segmentation.method=exact"])
    run = train(replace(line_job(tmp_path / "exact", "heuristic"), config=config))
    assert run.card is not None
    assert "spearman" in run.card.parts["heuristic"].scores
    unknown = override(line_config("heuristic"), ["segmentation.method=eventz"])
    with pytest.raises(UnknownNameError, match="Unknown segmentation 'eventz'"):
        train(replace(line_job(tmp_path / "other", "heuristic"), config=unknown))
    assert not (tmp_path / "other").exists()


class Killed(BaseException):
    """Stands for a kill in the middle of a training."""


@pytest.mark.usefixtures("few_samples")
def test_a_training_that_is_killed_again_and_again_gives_the_same_weights(
    whole: tuple[TrainedRun, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a stage, between two checkpoints, and before the first step of one."""
    kills = [
        ("reach_policy.imitation", 4),
        ("subgoals.discrete", 1),
        ("reach_policy.chunking", 5),
        ("heuristic.training", 0),
    ]
    job = line_job(tmp_path, data=[whole[1] / "data"])
    original = StageRun._one_step

    def die(self: StageRun, trained: nn.Module, share: int) -> None:
        if kills and (self.name, self.step) == kills[0]:
            raise Killed
        original(self, trained, share)

    with monkeypatch.context() as patch:
        patch.setattr(StageRun, "_one_step", die)
        while kills:
            with pytest.raises(Killed):
                train(job)
            assert not (tmp_path / "model").exists()
            with pytest.raises(ConfigError, match="--resume"):
                train(replace(job, resume=False))
            job = replace(job, resume=True)
            kills.pop(0)
    resumed = train(job)
    assert set(resumed.networks) == set(whole[0].networks) == set(SHIPPED)
    assert same_weights(whole[0].networks, resumed.networks)
    assert resumed.card is not None
    assert resumed.card.files[WEIGHTS] == card_of(whole).files[WEIGHTS]
    for name, entry in card_of(whole).parts.items():
        assert resumed.card.parts[name].scores == entry.scores, name


@pytest.mark.usefixtures("few_samples")
def test_a_model_is_written_once_every_stage_is_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = line_job(tmp_path, "dynamics", "heuristic")
    first = train(replace(job, stages=("heuristic.training",)))
    assert first.card is None
    assert "dynamics.training to come" in capsys.readouterr().err.replace("\n", " ")
    assert set(first.reports) == {"heuristic.training"}
    assert not (tmp_path / "model").exists()
    second = train(replace(job, stages=("dynamics.training",), resume=True))
    assert second.card is not None
    assert set(second.reports) == {"dynamics.training", "heuristic.training"}
    assert (tmp_path / "model" / CARD).exists()


def test_unknown_stages_and_missing_ones_are_named(tmp_path: Path) -> None:
    job = line_job(tmp_path / "run", "dynamics", stages=("dynamics.teaching",))
    with pytest.raises(ConfigError, match=r"'dynamics\.teaching'. Available: dynamics\.training"):
        train(job)
    assert not (tmp_path / "run").exists()
    needy = line_job(tmp_path / "needy", "prior")
    with pytest.raises(ConfigError, match=r"'prior\.training' needs 'subgoals\.discrete' first"):
        train(needy)


def test_damaged_labels_are_refused_before_the_collection(tmp_path: Path) -> None:
    (tmp_path / "labels.npz").write_bytes(b"no labels")
    job = line_job(tmp_path / "run", "dynamics", labels=[tmp_path / "labels.npz"])
    with pytest.raises(DatasetError, match="not a file of labelled states"):
        train(job)
    assert not (tmp_path / "run" / "data").exists()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments, "--size", "smoke", "--threads", "1"]


TILES = ("hips", "train", "sliding_tiles", "--set", "height=3", "--set", "width=3")


@pytest.mark.slow
def test_a_killed_training_resumes_to_the_same_weights(tmp_path: Path) -> None:
    subprocess.run([*command(*TILES), "--out", str(tmp_path / "whole")], check=True)
    process = subprocess.Popen([*command(*TILES), "--out", str(tmp_path / "cut")])
    rows = tmp_path / "cut" / "metrics.jsonl"
    deadline = time.monotonic() + 900
    while time.monotonic() < deadline:
        if rows.exists() and '"stage": "subgoals.continuous"' in rows.read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "cut" / "model" / CARD).exists()
    subprocess.run([*command(*TILES), "--out", str(tmp_path / "cut"), "--resume"], check=True)
    whole, cut = (read_card(tmp_path / name / "model") for name in ("whole", "cut"))
    assert whole.files[WEIGHTS] == cut.files[WEIGHTS]
    assert [e.scores for e in whole.parts.values()] == [e.scores for e in cut.parts.values()]


@pytest.mark.slow
def test_two_processes_train_together(tmp_path: Path) -> None:
    together = ("torch.distributed.run", "--nproc-per-node", "2", "--master-addr", "127.0.0.1",
                "--master-port", "29533", "-m")  # fmt: skip
    out = ["--out", str(tmp_path / "run")]
    subprocess.run([*command(*together, *TILES), *out], check=True, timeout=900)
    assert (tmp_path / "run" / "model" / CARD).exists()


@pytest.mark.slow
def test_the_example_domain_trains_and_solves(tmp_path: Path) -> None:
    """A user's own domain, from its one file to plans found with a model of its own."""
    plugin = ["--plugin", str(EXAMPLE)]
    hips = [sys.executable, "-m", "hips"]
    model, levels = tmp_path / "run" / "model", tmp_path / "levels.txt"
    longer = [
        text
        for stage in STAGES
        if not stage.startswith("detector")
        for text in ("--config", f"{stage}.steps=300")
    ]
    out = ["--out", str(tmp_path / "run")]
    training = command("hips", "train", "lights_out", *plugin, *out, *longer)
    subprocess.run(training, check=True)
    sample = ["sample", "lights_out", "--count", "10", "--seed", "5", "--out", str(levels)]
    subprocess.run([*hips, *sample, *plugin], check=True)
    solve = ["solve", "lights_out", "--levels", str(levels), "--model", str(model), "--json"]
    found = subprocess.run([*hips, *solve, *plugin], check=True, capture_output=True, text=True)
    results = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(results) == 10
    assert {result["outcome"] for result in results} == {"SOLVED"}
    kinds = {segment["kind"] for result in results for segment in result["segments"]}
    assert "subgoal" in kinds
