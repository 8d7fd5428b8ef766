"""Models of untrained networks: enough to test files, graphs and completeness."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from hips import domains, parts
from hips.training.config import TrainingConfig
from hips.training.corpus import Corpus
from hips.training.model_folder import export_model
from hips.training.pipeline import build_networks
from hips.training.process_group import ProcessGroup
from hips.training.scoring import held_out
from hips.training.workshop import Workshop

ALONE = ProcessGroup(0, 1, torch.device("cpu"))


def untrained(domain: domains.Domain, config: TrainingConfig) -> dict[str, nn.Module]:
    """Networks with random weights and a filled codebook."""
    networks = build_networks(parts.known(config.parts), config, domain.spec)
    if "subgoals" in networks:
        torch.manual_seed(0)
        fill_codebook(networks["subgoals"], config.parts["subgoals"].code_dimension)
    return networks


def fill_codebook(subgoals: nn.Module, dimension: int) -> None:
    """Puts codes of random points into the codebook."""
    subgoals.train()
    subgoals.quantise(torch.randn(512, dimension))  # type: ignore[operator]
    subgoals.eval()


def workshop(
    domain: domains.Domain,
    config: TrainingConfig,
    networks: Mapping[str, nn.Module],
    folder: Path,
    corpus: Corpus | None = None,
) -> Workshop:
    """What stages are built from, with the same demonstrations to train and to validate."""
    data = corpus or Corpus.build(held_out(domain, 20, 0, 1.0), domain)
    return Workshop(
        domain, config, parts.known(), networks, data, data, None, folder, ALONE, lambda text: None
    )


def export_untrained(
    domain: domains.Domain, config: TrainingConfig, out: Path
) -> dict[str, nn.Module]:
    """Writes a model as `hips train` does; returns its networks."""
    networks = untrained(domain, config)
    export_model(workshop(domain, config, networks, out), {}, None, out, {}, {"data": {}})
    return networks
