from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hips import data, domains, parts
from hips.data import Demonstrations
from hips.training.config import TrainingConfig, default_config, override
from hips.training.corpus import Corpus

SHIPPED = ("reach_policy", "detector", "subgoals", "prior", "heuristic", "dynamics")
STAGES = (
    "reach_policy.imitation",
    "detector.training",
    "subgoals.continuous",
    "subgoals.discrete",
    "prior.training",
    "heuristic.training",
    "dynamics.training",
    "reach_policy.chunking",
)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Two threads in each of two test processes would wait for each other."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)


SAMPLED = ("cql", "dynamics", "heuristic", "prior", "reach_policy", "subgoals")


def take_few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validations on few samples: whole trainings in seconds."""
    for part in SAMPLED:
        monkeypatch.setattr(f"hips.parts.{part}.train.VALIDATION_SAMPLES", 512)
    monkeypatch.setattr("hips.parts.blocks.edits.VALIDATION_SAMPLES", 512)
    monkeypatch.setattr("hips.parts.dt.train.VALIDATION_SEQUENCES", 8)
    monkeypatch.setattr("hips.parts.verifier.train.VALIDATION_STATES", 8)
    monkeypatch.setattr("hips.parts.reach_policy.chunking.VALIDATION_SAMPLES", 512)
    monkeypatch.setattr("hips.parts.reach_policy.chunking.MAX_ROUNDS", 8)
    monkeypatch.setattr("hips.parts.subgoals.train.KMEANS_SAMPLES", 2048)
    monkeypatch.setattr("hips.parts.dynamics.score.TRANSITIONS", 2048)


@pytest.fixture
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    take_few_samples(monkeypatch)


@pytest.fixture(scope="session")
def tiles() -> domains.Domain:
    return domains.create("sliding_tiles", height=3, width=3)


@pytest.fixture(scope="session")
def demos(tiles: domains.Domain, tmp_path_factory: pytest.TempPathFactory) -> Demonstrations:
    out: Path = tmp_path_factory.mktemp("tiles")
    return data.collect(tiles, count=300, seed=0, out=out)


@pytest.fixture(scope="session")
def corpus(demos: Demonstrations) -> Corpus:
    return Corpus.build(demos.trajectories("train"), demos.domain)


@pytest.fixture
def config(tiles: domains.Domain) -> TrainingConfig:
    """A smoke run of all parts, short enough to be repeated within one test."""
    known = parts.known(SHIPPED)
    short = [f"{stage}.{change}" for stage in STAGES for change in ("steps=6", "validate_every=3")]
    codes = ["subgoals.num_codes=8", "prior.num_codes=8"]
    return override(default_config(tiles, known, "smoke"), [*short, *codes])
