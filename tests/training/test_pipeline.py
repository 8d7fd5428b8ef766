from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hips import domains
from hips.demonstrations import Demonstrations
from hips.errors import ConfigError, DatasetError, HipsError
from hips.models import bundle
from hips.models.networks.assembly import Networks
from hips.training import checkpoint
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from hips.training.export import export_bundle
from hips.training.heuristic import HeuristicStage
from hips.training.loop import StageRun, learning_rate_factor
from hips.training.networks import build_networks
from hips.training.pipeline import STAGES, Pipeline, TrainedRun, open_run
from hips.training.policy import PolicyObjective, PolicyStage
from hips.training.progress import Reporter
from hips.training.world import World

ALONE = World(0, 1, torch.device("cpu"))


def run_all(config: TrainingConfig, demos: Demonstrations, folder: Path) -> TrainedRun:
    return Pipeline(config, demos, folder, ALONE, Reporter(None)).run()


def _weights(run: TrainedRun) -> dict[str, torch.Tensor]:
    return run.networks.state_dict()


def test_same_seed_same_weights_and_the_bundle_agrees(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    first = run_all(config, demos, tmp_path / "a")
    second = run_all(config, demos, tmp_path / "b")
    assert set(first.reports) == set(STAGES)
    for name, value in _weights(first).items():
        assert torch.equal(value, _weights(second)[name]), name
    states = demos.starts[:8]
    examples = Corpus.build(demos.trajectories("validation"), demos.domain)
    export_bundle(first, demos.domain, examples, tmp_path / "model", {"data": {}})
    loaded = bundle.load(tmp_path / "model")
    with torch.no_grad():
        expected = first.networks.heuristic(torch.from_numpy(states)).numpy()
    np.testing.assert_allclose(loaded.runtime.heuristic(states), expected, rtol=1e-4)
    assert loaded.card["training"]["vqvae"]["steps"] == 6


class Killed(BaseException):
    """Stands for a kill in the middle of a stage."""


def test_a_resumed_stage_equals_an_uninterrupted_one(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = corpus.domain.spec

    def stage_run(folder: str) -> tuple[StageRun, Networks]:
        networks = build_networks(spec, config)
        stage = HeuristicStage(config.heuristic, networks.heuristic, networks.prior, corpus, corpus)
        return StageRun(stage, tmp_path / folder, 0, Reporter(None), ALONE), networks

    whole, expected = stage_run("whole")
    whole.run()
    cut, _ = stage_run("cut")
    original = cut._one_step

    def die_at_five(trained: torch.nn.Module, share: int) -> None:
        if cut.step == 5:
            raise Killed
        original(trained, share)

    monkeypatch.setattr(cut, "_one_step", die_at_five)
    with pytest.raises(Killed):
        cut.run()
    resumed, found = stage_run("cut")
    resumed.run()
    for name, value in expected.heuristic.state_dict().items():
        assert torch.equal(value, found.heuristic.state_dict()[name]), name


def test_an_exploding_learning_rate_is_named_and_the_checkpoint_kept(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    networks = build_networks(corpus.domain.spec, config)
    stage = PolicyStage(config.policy, networks.policy, corpus, corpus, config.horizon)
    run = StageRun(stage, tmp_path, 0, Reporter(None), ALONE)
    original = stage.batch

    def poisoned(rng: np.random.Generator, size: int) -> dict[str, torch.Tensor]:
        if run.step == 4:
            with torch.no_grad():
                next(networks.policy.parameters()).fill_(float("inf"))
        return original(rng, size)

    stage.batch = poisoned  # type: ignore[method-assign]
    with pytest.raises(HipsError, match=r"'policy'.*policy\.learning_rate"):
        run.run()
    fresh = PolicyObjective(build_networks(corpus.domain.spec, config).policy)
    facts = checkpoint.load(tmp_path / "policy" / "latest.safetensors", fresh)
    assert facts["step"] == 3
    assert all(bool(torch.isfinite(value).all()) for value in fresh.state_dict().values())


def test_each_stage_overfits_ten_trajectories(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    few = replace(demos.select(np.arange(11)), validation=np.arange(11) == 10)
    longer = [
        f"{stage}.{setting}"
        for stage in STAGES
        for setting in ("steps=250", "validate_every=250", "learning_rate=3e-3")
    ]
    slower = ["detector.steps=20", "detector.validate_every=20"]
    pipeline = Pipeline(override(config, [*longer, *slower]), few, tmp_path, ALONE, Reporter(None))
    pipeline.valid = pipeline.train
    metrics = {name: report.metrics for name, report in pipeline.run().reports.items()}
    assert metrics["policy"]["first_accuracy"] > 0.9
    assert metrics["detector"]["objective"] > metrics["detector"]["dp_objective"] - 10.0
    assert metrics["chunks"]["first_accuracy"] > 0.9
    assert metrics["chunks"]["chunk_accuracy"] > 0.75
    assert metrics["autoencoder"]["exact"] > 0.4
    assert metrics["vqvae"]["exact"] > 0.3
    assert metrics["prior"]["action_accuracy"] > 0.9
    assert metrics["heuristic"]["error"] < 3.0
    assert metrics["dynamics"]["exact"] > 0.8


def test_demonstrations_of_another_domain_are_refused(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    other = override(config, ["domain=sokoban"])
    with pytest.raises(DatasetError, match="sliding_tiles"):
        Pipeline(other, demos, tmp_path, ALONE, Reporter(None))


def test_a_run_folder_is_not_taken_over(config: TrainingConfig, tmp_path: Path) -> None:
    open_run(tmp_path, config, resume=False)
    open_run(tmp_path, config, resume=True)
    with pytest.raises(ConfigError, match="--resume"):
        open_run(tmp_path, config, resume=False)
    with pytest.raises(ConfigError, match="'vqvae' differs"):
        open_run(tmp_path, override(config, ["vqvae.num_codes=5"]), resume=True)


def test_a_full_disk_keeps_the_last_checkpoint(
    tiles: domains.Domain, config: TrainingConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = build_networks(tiles.spec, config)
    path = tmp_path / "latest.safetensors"
    checkpoint.save(path, networks.detector, None, {"step": 1})

    def no_room(*unused: object, **also_unused: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", no_room)
    with pytest.raises(HipsError, match="No space left"):
        checkpoint.save(path, networks.detector, None, {"step": 2})
    assert checkpoint.load(path, networks.detector)["step"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["latest.safetensors"]


def test_the_learning_rate_warms_up_and_ends_at_zero() -> None:
    factors = [learning_rate_factor(step, 1000) for step in range(1000)]
    assert max(factors) == 1.0
    assert factors[0] < 0.1
    assert factors[-1] < 1e-4


@pytest.mark.slow
def test_a_killed_training_resumes_to_the_same_weights(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "hips", "train", "sliding_tiles", "--size", "smoke", "--threads",
        "1", "--set", "domain.height=3", "--set", "domain.width=3",
    ]  # fmt: skip
    subprocess.run([*command, "--out", str(tmp_path / "whole")], check=True)
    process = subprocess.Popen([*command, "--out", str(tmp_path / "cut")])
    rows = tmp_path / "cut" / "metrics.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if rows.exists() and '"stage": "autoencoder"' in rows.read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run([*command, "--out", str(tmp_path / "cut"), "--resume"], check=True)
    whole = json.loads((tmp_path / "whole" / "model" / "card.json").read_text())
    cut = json.loads((tmp_path / "cut" / "model" / "card.json").read_text())
    assert whole["files"]["weights.safetensors"] == cut["files"]["weights.safetensors"]
    assert whole["scores"] == cut["scores"]


@pytest.mark.slow
def test_two_processes_train_together(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-addr",
        "127.0.0.1", "--master-port", "29533", "-m", "hips", "train", "sliding_tiles", "--size",
        "smoke", "--threads", "1", "--set", "domain.height=3", "--set", "domain.width=3",
        "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    subprocess.run(command, check=True, timeout=900)
    assert (tmp_path / "run" / "model" / "card.json").exists()


@pytest.mark.slow
def test_the_example_domain_trains_and_solves(tmp_path: Path) -> None:
    """A user's own domain, from its one file to plans found with a model of its own."""
    plugin = ["--plugin", str(Path(__file__).parents[2] / "examples" / "lights_out.py")]
    hips = [sys.executable, "-m", "hips"]
    model, levels = tmp_path / "run" / "model", tmp_path / "levels.txt"
    train = ["train", "lights_out", "--size", "smoke", "--threads", "1"]
    subprocess.run([*hips, *train, *plugin, "--out", str(tmp_path / "run")], check=True)
    sample = ["sample", "lights_out", "--count", "10", "--seed", "5", "--out", str(levels)]
    subprocess.run([*hips, *sample, *plugin], check=True)
    solve = ["solve", "lights_out", "--levels", str(levels), "--model", str(model), "--json"]
    found = subprocess.run([*hips, *solve, *plugin], check=True, capture_output=True, text=True)
    results = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(results) == 10
    assert {result["outcome"] for result in results} == {"solved"}
    kinds = {segment["kind"] for result in results for segment in result["segments"]}
    assert "subgoal" in kinds
