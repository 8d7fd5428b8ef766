"""One stage: resuming, early stopping, and what happens when it fails."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hips import parts
from hips.errors import HipsError, ModelError
from hips.parts.reach_policy.train import PolicyObjective, build
from hips.training import checkpoint
from hips.training.batches import Batch
from hips.training.config import TrainingConfig, default_config, override
from hips.training.corpus import Corpus
from hips.training.loop import Stage, StageRun, learning_rate_factor
from hips.training.progress import Reporter
from hips.training.recipes import with_companions
from hips.training.schedule import Schedule
from tests.models.untrained import ALONE, untrained, workshop

ONE_STAGE = ("heuristic", "ksubs", "adasubs", "verifier", "cql", "dt")
"""Parts that learn in one stage, from demonstrations alone."""


class Killed(BaseException):
    """Stands for a kill in the middle of a stage."""


def short_config(corpus: Corpus, name: str) -> TrainingConfig:
    """Six steps of the only stage of a part, and what it is trained with."""
    chosen = sorted(with_companions(parts.known(), [name]))
    config = default_config(corpus.domain, parts.known(chosen), "smoke")
    steps = [f"{name}.training.{change}" for change in ("steps=6", "validate_every=3")]
    rare = ["verifier.states=8"] if name == "verifier" else []
    return override(config, [*steps, *rare, *(["cql.target_every=4"] if name == "cql" else [])])


@pytest.mark.parametrize("name", ONE_STAGE)
def test_a_resumed_stage_equals_an_uninterrupted_one(
    name: str, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_samples: None
) -> None:
    config = short_config(corpus, name)

    def stage_run(folder: str) -> tuple[StageRun, nn.Module]:
        networks = untrained(corpus.domain, config)
        work = workshop(corpus.domain, config, networks, tmp_path, corpus)
        stage, out = parts.get(name).stages(config)[0].build(work), tmp_path / folder
        return StageRun(name, stage, out, 0, Reporter(None), ALONE), networks[name]

    whole, expected = stage_run("whole")
    report = whole.run()
    cut, _ = stage_run("cut")
    original = cut._one_step

    def die_at_five(trained: nn.Module, share: int) -> None:
        if cut.step == 5:
            raise Killed
        original(trained, share)

    monkeypatch.setattr(cut, "_one_step", die_at_five)
    with pytest.raises(Killed):
        cut.run()
    resumed, found = stage_run("cut")
    assert resumed.run().metrics == report.metrics
    for key, value in expected.state_dict().items():
        assert torch.equal(value, found.state_dict()[key]), key
    again, loaded = stage_run("cut")
    assert again.run().steps == report.steps == 6
    for key, value in expected.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[key]), key


def test_a_stage_of_no_steps_keeps_its_weights(
    corpus: Corpus, tmp_path: Path, few_samples: None
) -> None:
    config = override(short_config(corpus, "heuristic"), ["heuristic.training.steps=0"])
    networks = untrained(corpus.domain, config)
    work = workshop(corpus.domain, config, networks, tmp_path, corpus)
    stage = parts.get("heuristic").stages(config)[0].build(work)
    before = {key: value.clone() for key, value in networks["heuristic"].state_dict().items()}
    report = StageRun("heuristic", stage, tmp_path / "run", 0, Reporter(None), ALONE).run()
    assert report.steps == 0
    assert math.isfinite(report.metrics["score"])
    for key, value in networks["heuristic"].state_dict().items():
        assert torch.equal(value, before[key]), key


def test_an_exploding_learning_rate_is_named_and_the_checkpoint_kept(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    networks = untrained(corpus.domain, config)
    stage = build(workshop(corpus.domain, config, networks, tmp_path, corpus))
    run = StageRun("reach_policy.imitation", stage, tmp_path, 0, Reporter(None), ALONE)
    original = stage.batch

    def poisoned(rng: np.random.Generator, size: int) -> Batch:
        if run.step == 4:
            with torch.no_grad():
                next(stage.policy.parameters()).fill_(float("inf"))
        return original(rng, size)

    stage.batch = poisoned  # type: ignore[method-assign]
    with pytest.raises(HipsError, match=r"'reach_policy\.imitation'.*imitation\.learning_rate"):
        run.run()
    fresh = PolicyObjective(untrained(corpus.domain, config)["reach_policy"])  # type: ignore[arg-type]
    path = tmp_path / "reach_policy.imitation" / "latest.safetensors"
    assert checkpoint.load(path, fresh)["step"] == 3
    assert all(bool(torch.isfinite(value).all()) for value in fresh.state_dict().values())


class Descent(nn.Module):
    """One number that is to become 0."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(5.0))

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        return self.value.square(), {}


class Scripted(Stage):
    """Says what validations give, whatever is learned."""

    def __init__(self, schedule: Schedule, scores: list[float]) -> None:
        self.schedule, self.objective = schedule, Descent()
        self.scores, self.values = scores, list[float]()
        self.prepared = 0

    def prepare(self) -> None:
        self.prepared += 1

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        return {"noise": torch.from_numpy(rng.normal(size=size))}

    def validate(self) -> dict[str, float]:
        self.values.append(float(self.objective.value.detach()))  # type: ignore[operator,union-attr]
        return {"score": self.scores[len(self.values) - 1]}


def test_patience_ends_a_stage_and_the_best_weights_are_kept(tmp_path: Path) -> None:
    stage = Scripted(Schedule(100, 4, 0.1, validate_every=2, patience=3), [3, 1, 2, 2, 1, 0])
    report = StageRun("scripted", stage, tmp_path, 0, Reporter(None), ALONE).run()
    assert report.steps == 10  # two better validations and three that are not
    assert report.metrics == {"score": 1}
    assert len(set(stage.values)) == 5
    assert float(stage.objective.value.detach()) == stage.values[1]  # type: ignore[arg-type]
    written = json.loads((tmp_path / "scripted" / "done.json").read_text())
    assert (written["steps"], written["metrics"]) == (10, {"score": 1})
    assert not (tmp_path / "scripted" / "latest.safetensors").exists()


@pytest.mark.parametrize("fresh", [True, False])
def test_networks_that_know_something_are_not_prepared(fresh: bool, tmp_path: Path) -> None:
    stage = Scripted(Schedule(2, validate_every=2), [1])
    StageRun("scripted", stage, tmp_path, 0, Reporter(None), ALONE, fresh).run()
    assert stage.prepared == int(fresh)


def test_a_validation_that_is_not_finite_is_named(tmp_path: Path) -> None:
    stage = Scripted(Schedule(2, validate_every=2), [math.nan])
    with pytest.raises(HipsError, match=r"'scripted': the validation score is nan at step 2"):
        StageRun("scripted", stage, tmp_path, 0, Reporter(None), ALONE).run()


def test_a_full_disk_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = nn.Linear(3, 2)
    path = tmp_path / "latest.safetensors"
    checkpoint.save(path, network, None, {"step": 1})

    def no_room(*unused: object, **also_unused: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", no_room)
    with pytest.raises(HipsError, match="No space left"):
        checkpoint.save(path, network, None, {"step": 2})
    assert checkpoint.load(path, network)["step"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["latest.safetensors"]


def test_damaged_checkpoints_and_those_of_other_networks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "latest.safetensors"
    checkpoint.save(path, nn.Linear(3, 2), None, {"step": 1})
    with pytest.raises(ModelError, match="other sizes"):
        checkpoint.load(path, nn.Linear(3, 3))
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ModelError, match="not a readable checkpoint"):
        checkpoint.load(path, nn.Linear(3, 2))


def test_the_learning_rate_warms_up_and_ends_at_zero() -> None:
    factors = [learning_rate_factor(step, 1000) for step in range(1000)]
    peak = factors.index(1.0)
    assert factors[: peak + 1] == sorted(factors[: peak + 1])
    assert factors[peak:] == sorted(factors[peak:], reverse=True)
    assert peak == 29
    assert 0.0 < factors[0] < 0.1
    assert 0.0 < factors[-1] < 1e-4
