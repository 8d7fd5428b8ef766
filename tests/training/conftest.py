from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hips import demonstrations, domains
from hips.demonstrations import Demonstrations
from hips.training.config import TrainingConfig, default_config, override
from hips.training.corpus import Corpus
from hips.training.pipeline import STAGES


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Two threads in each of two test processes would wait for each other."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)


@pytest.fixture(scope="session")
def tiles() -> domains.Domain:
    return domains.create("sliding_tiles", height=3, width=3)


@pytest.fixture(scope="session")
def demos(tiles: domains.Domain, tmp_path_factory: pytest.TempPathFactory) -> Demonstrations:
    out: Path = tmp_path_factory.mktemp("tiles")
    return demonstrations.collect(tiles, count=300, seed=0, out=out)


@pytest.fixture(scope="session")
def corpus(demos: Demonstrations) -> Corpus:
    return Corpus.build(demos.trajectories("train"), demos.domain)


@pytest.fixture
def config(tiles: domains.Domain) -> TrainingConfig:
    """A smoke run short enough to be repeated within one test."""
    short = [f"{name}.{change}" for name in STAGES for change in ("steps=6", "validate_every=3")]
    return override(default_config(tiles, "smoke"), [*short, "vqvae.num_codes=8"])
