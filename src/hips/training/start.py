"""Where a training starts if not from random weights: at those of a finished model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hips.domains import Domain
from hips.errors import ModelError
from hips.models import bundle
from hips.models.networks.assembly import Networks
from hips.models.networks.plan import NetworkPlan, NetworkSizes, shaped_networks
from hips.models.networks.weights import WEIGHTS, load_weights
from hips.training.config import TrainingConfig
from hips.training.networks import network_plan

FIRST_STAGES: Mapping[str, str] = {
    "policy": "policy",
    "detector": "detector",
    "subgoals": "autoencoder",
    "prior": "prior",
    "heuristic": "heuristic",
    "dynamics": "dynamics",
}
"""The stage in which each network begins to learn."""


@dataclass(frozen=True, slots=True)
class Start:
    """A checked model to start from.

    Attributes:
        name: what it was called when it was asked for.
        folder: where it lies.
        sha256: hash of its weights.
        training: what its card says of the stages that made it.
        replaced: networks that are not taken from it.
    """

    name: str
    folder: Path
    sha256: str
    training: Mapping[str, Any]
    replaced: tuple[str, ...] = ()

    def record(self) -> dict[str, str]:
        """What the configuration, and with it the card, says of the start."""
        return {"model": self.name, "sha256": self.sha256}

    def load_into(self, networks: Networks) -> None:
        """Replaces the initial weights of all networks that are taken from the model."""
        load_weights(networks, self.folder, self.replaced, grow=True)


def find_start(name_or_folder: str | Path, domain: Domain, config: TrainingConfig) -> Start:
    """The model called so, checked before anything is collected or trained.

    Networks that are learnt anew may have other sizes than the model's, and a heuristic
    without attention or exchanges may have more blocks.

    Raises:
        ModelError: missing, damaged, for another domain, or of networks of other sizes.
    """
    found = bundle.load(name_or_folder, domain)
    if WEIGHTS not in found.card["files"]:
        raise ModelError(f"{found.folder}: has no {WEIGHTS}, so nothing can start from it.")
    replaced = tuple(n for n, stage in FIRST_STAGES.items() if getattr(config, stage).anew)
    _check_sizes(found, network_plan(config), replaced)
    card = found.card
    weights = card["files"][WEIGHTS]
    return Start(str(name_or_folder), found.folder, weights, card["training"], replaced)


def _check_sizes(found: bundle.Bundle, wanted: NetworkPlan, replaced: tuple[str, ...]) -> None:
    present = NetworkPlan.of(found.card["configuration"])
    ours, theirs = wanted.shaping(), present.shaping()
    different = [
        name for name in ours if ours[name] != theirs[name] and not _is_free(name, replaced)
    ]
    if _grows(present.sizes, wanted.sizes):
        different = [name for name in different if name != "network.heuristic_blocks"]
    if different:
        settings = " ".join(f"--set {name}={str(theirs[name]).lower()}" for name in different)
        raise ModelError(
            f"{found.folder}: its networks have other sizes than those of this training; "
            f"to start from it, add {settings}"
        )


def _grows(present: NetworkSizes, wanted: NetworkSizes) -> bool:
    """Whether the heuristic gets residual blocks behind those it has, and nothing else."""
    plain = wanted.attention == 0 and not wanted.same_symbols
    return plain and wanted.heuristic_size[1] > present.heuristic_size[1]


def _is_free(setting: str, replaced: tuple[str, ...]) -> bool:
    """Whether a setting shapes only networks that are learnt anew."""
    shaped = shaped_networks(setting)
    return bool(shaped) and set(shaped) <= set(replaced)
