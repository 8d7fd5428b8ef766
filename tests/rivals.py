"""A model of all rivals that has learned ten demonstrations by heart, trained once a session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from hips import domains, parts
from hips.arrays import Grid
from hips.training.config import TrainingConfig, default_config, override
from hips.training.corpus import Corpus
from hips.training.model_folder import export_model
from hips.training.pipeline import ordered_stages, run_stages
from hips.training.progress import Reporter
from hips.training.scoring import held_out
from tests.models.untrained import untrained, workshop

PARTS = ("adasubs", "cql", "dt", "heuristic", "ksubs", "reach_policy", "verifier")
STEPS = {
    "adasubs.training": 350,
    "cql.training": 150,
    "dt.training": 160,
    "heuristic.training": 120,
    "ksubs.training": 250,
    "reach_policy.imitation": 150,
    "verifier.training": 40,
}
DEMONSTRATIONS = 10


@dataclass(frozen=True)
class Rivals:
    """The model, its domain, and the levels of the demonstrations."""

    folder: Path
    domain: domains.Domain
    levels: list[Grid]


def configuration(domain: domains.Domain) -> TrainingConfig:
    """Small networks, large learning rates, no validation before the end."""
    changes = [
        f"{stage}.{name}={value}"
        for stage, steps in STEPS.items()
        for name, value in (
            ("steps", steps),
            ("validate_every", steps),
            ("learning_rate", 0.003),
        )
    ]
    own = [
        "cql.target_every=30",
        "dt.width=48",
        "dt.layers=2",
        "dt.dropout=0",
        "dt.training.batch=8",
    ]
    return override(default_config(domain, parts.known(PARTS), "smoke"), [*changes, *own])


def learn_by_heart(out: Path) -> Rivals:
    """Trains, and exports as `hips train` does."""
    torch.set_num_threads(1)
    domain = domains.create("sliding_tiles", height=2, width=3)
    data = held_out(domain, DEMONSTRATIONS, 0, 1.0)
    config = configuration(domain)
    work = workshop(domain, config, untrained(domain, config), out, Corpus.build(data, domain))
    stages = ordered_stages(parts.known(PARTS), config)
    with Reporter(None) as reporter:
        reports = run_stages(work, stages, {stage.name for stage in stages}, reporter)
    export_model(work, reports, None, out / "model", {}, {"data": {}})
    return Rivals(out / "model", domain, list(data.states[data.offsets[:-1]]))
