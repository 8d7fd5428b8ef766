"""Models of untrained networks: enough to test files, graphs and completeness."""

from __future__ import annotations

from pathlib import Path

import torch

from hips import domains
from hips.benchmark.validation import held_out
from hips.models.networks.assembly import Networks
from hips.training.config import TrainingConfig
from hips.training.corpus import Corpus
from hips.training.export import export_bundle
from hips.training.networks import build_networks
from hips.training.pipeline import TrainedRun


def untrained(domain: domains.Domain, config: TrainingConfig) -> Networks:
    """Networks with random weights and a filled codebook."""
    networks = build_networks(domain.spec, config)
    networks.subgoals.train()
    networks.subgoals.quantise(torch.randn(512, config.vqvae.code_dimension))
    return networks


def export_untrained(domain: domains.Domain, config: TrainingConfig, out: Path) -> Networks:
    """Writes a bundle as `hips train` does; returns its networks."""
    networks = untrained(domain, config)
    examples = Corpus.build(held_out(domain, 20, 0, 1.0), domain)
    export_bundle(TrainedRun(config, networks, {}), domain, examples, out, {"data": {}})
    return networks
