"""Warm start: training from the weights of a finished model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from hips.domains.base import Domain
from hips.errors import ModelError
from hips.models import bundle as bundles
from hips.models.bundle import Bundle
from hips.models.card import WEIGHTS, PartEntry
from hips.training.config import TrainingConfig, build
from hips.training.contract import Part
from hips.training.schedule import Schedule
from hips.training.torch_runtime import build_networks
from hips.training.weights import load_weights

GROWING = "blocks"
"""Suffixes of settings in which a network may exceed the model's."""


@dataclass(frozen=True, slots=True)
class WarmStart:
    """A verified model to start from.

    Attributes:
        name: the requested name or folder.
        bundle: the model.
    """

    name: str
    bundle: Bundle

    def record(self) -> dict[str, Any]:
        """The entry in the configuration, and thus in the card."""
        digest = self.bundle.card.files[WEIGHTS]
        return {"model": self.name, "sha256": digest, "parts": list(self.entries)}

    @property
    def entries(self) -> Mapping[str, PartEntry]:
        """The parts in the model's card."""
        return self.bundle.card.parts

    def finished_stages(self) -> set[str]:
        """Stages that the model has completed."""
        return {
            f"{part}.{stage}" for part, entry in self.entries.items() for stage in entry.training
        }

    def load_into(
        self, networks: Mapping[str, nn.Module], config: TrainingConfig
    ) -> dict[str, nn.Module]:
        """Loads the model's weights; returns the networks that received them.

        Parts with a cold start, and those missing from the model, keep their initial weights.
        """
        warm = {
            name: network
            for name, network in networks.items()
            if name in self.entries and not is_cold(config.parts[name])
        }
        load_weights(warm, self.bundle, grow=True)
        return warm

    def other_networks(
        self, parts: Mapping[str, Part], trained: Mapping[str, nn.Module]
    ) -> dict[str, nn.Module]:
        """Networks of the model's parts that are not trained but kept, for use by other parts."""
        kept = {name: part for name, part in parts.items() if name not in trained}
        names = [name for name in self.entries if name in kept]
        entries = {name: self.entries[name] for name in names}
        card = dataclasses.replace(self.bundle.card, parts=entries)
        own = dataclasses.replace(self.bundle, card=card)
        networks = build_networks(own, kept)
        load_weights(networks, own)
        return networks


def find_warm_start(
    name_or_folder: str | Path, domain: Domain, config: TrainingConfig, parts: Mapping[str, Part]
) -> WarmStart:
    """Finds and checks the model before any data is collected or any part is trained.

    Parts with a cold start may differ in size from the model's, and networks may have more
    residual blocks.

    Raises:
        ModelError: the model is missing, damaged, for another domain, or of other network sizes.
    """
    found = bundles.load(name_or_folder, domain)
    if WEIGHTS not in found.card.files:
        raise ModelError(f"{found.folder}: has no {WEIGHTS}, so training cannot start from it.")
    if found.card.horizon != config.horizon:
        raise ModelError(
            f"{found.folder}: trained with another horizon; to start from it, add "
            f"--config horizon={found.card.horizon}"
        )
    for name, own in config.parts.items():
        entry = found.card.parts.get(name)
        if entry is None or is_cold(own):
            continue
        theirs = build(parts[name].config_type, entry.configuration)
        different = [
            (key, value)
            for key, value in shaping(theirs).items()
            if value != shaping(own)[key] and not _grows(key, value, shaping(own)[key])
        ]
        if different:
            settings = " ".join(f"--config {name}.{key}={_text(v)}" for key, v in different)
            raise ModelError(
                f"{found.folder}: its part '{name}' differs in size from this training; "
                f"to start from it, add {settings}"
            )
    return WarmStart(str(name_or_folder), found)


def shaping(config: Any, prefix: str = "") -> dict[str, Any]:
    """The settings of a part that determine weight shapes, by dotted name: all but schedules."""
    found: dict[str, Any] = {}
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if isinstance(value, Schedule) or item.metadata.get("shapes") is False:
            continue
        if dataclasses.is_dataclass(value):
            found.update(shaping(value, f"{prefix}{item.name}."))
        else:
            found[prefix + item.name] = value
    return found


def is_cold(config: Any) -> bool:
    """Whether the first stage of a part starts from random weights."""
    schedules = [getattr(config, item.name) for item in dataclasses.fields(config)]
    first = next((one for one in schedules if isinstance(one, Schedule)), None)
    return first is not None and first.cold_start


def _grows(key: str, present: Any, wanted: Any) -> bool:
    return key.endswith(GROWING) and wanted > present


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
