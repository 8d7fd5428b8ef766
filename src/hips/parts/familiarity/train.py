"""Training of familiarity: demonstrated states against the ends of random walks from them.

A demonstrator that wanders may be anywhere, except where there is no way to the goal. A random walk
ends there, too. So what tells the ends of walks from demonstrated states is, above all, whether
they are dead ends; no expert and no simulator is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.arrays import Grids
from hips.parts.dynamics.adapter import LearnedDynamics
from hips.parts.familiarity.config import FamiliarityConfig
from hips.parts.familiarity.network import FamiliarityNetwork
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter
from hips.training.loop import Stage
from hips.training.schedule import Schedule
from hips.training.stitching import Surveyor
from hips.training.strays import stray_ends
from hips.training.weights import adopt_trunk
from hips.training.workshop import Workshop

VALIDATION_WALKS = 2_048


class FamiliarityObjective(nn.Module):
    """Cross-entropy of whether a state is demonstrated."""

    def __init__(self, network: FamiliarityNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for states `[B, H, W]` and `demonstrated` `[B]`."""
        logits = self.network(batch["states"])
        loss = functional.binary_cross_entropy_with_logits(logits, batch["demonstrated"])
        right = ((logits > 0) == (batch["demonstrated"] > 0)).float().mean()
        return loss, {"accuracy": right}


class FamiliarityStage(Stage):
    """Half of each batch are demonstrated states, half are ends of walks."""

    headline = "accuracy"

    def __init__(
        self,
        schedule: Schedule,
        network: FamiliarityNetwork,
        augment: Augmenter,
        train: tuple[Grids, Grids],
        valid: tuple[Grids, Grids],
        trunk: nn.Module | None = None,
    ) -> None:
        self.schedule, self.augment = schedule, augment
        self.network, self.trunk = network, trunk
        self.demonstrated, self.strays = train
        self.objective = FamiliarityObjective(network)
        self.validation = _tensors(*valid)

    def prepare(self) -> None:
        """Copies the prior's trunk, unless that has another width or more blocks."""
        if self.trunk is not None:
            adopt_trunk(self.trunk, self.network.trunk)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random states of both kinds."""
        half = size // 2
        shown = self.demonstrated[rng.choice(len(self.demonstrated), size=size - half)]
        strays = self.strays[rng.choice(len(self.strays), size=half)]
        (both,), _ = self.augment(rng, [np.concatenate([shown, strays])])
        return _tensors(both[: len(shown)], both[len(shown) :])

    def naive(self) -> dict[str, float]:
        """One guess for every state."""
        share = float(self.validation["demonstrated"].mean())
        return {"accuracy": max(share, 1.0 - share)}

    def validate(self) -> dict[str, float]:
        """Cross-entropy and accuracy on held-out states and walks from them."""
        return mean_metrics(self.objective, self.validation)


def _tensors(demonstrated: Grids, strays: Grids) -> Batch:
    kinds = np.repeat([1.0, 0.0], [len(demonstrated), len(strays)])
    return {
        "states": torch.from_numpy(np.concatenate([demonstrated, strays])),
        "demonstrated": torch.from_numpy(kinds).float(),
    }


def build(workshop: Workshop) -> FamiliarityStage:
    """The stage of a run, with walks in the learned dynamics from both splits."""
    config: FamiliarityConfig = workshop.config.parts["familiarity"]
    workshop.message(f"walking at random from {config.walks:,} demonstrated states")
    step = LearnedDynamics(workshop.runtime("dynamics")).step
    surveyor = Surveyor.of(workshop.domain, step)

    def split(name: str, states: Grids, walks: int) -> tuple[Grids, Grids]:
        rng = stream(workshop.config.seed, "familiarity", name)
        return states, stray_ends(surveyor, states, rng, walks, config.longest)

    train, valid = (corpus.states for corpus in workshop.visited)
    prior = workshop.networks.get("prior")
    shown, strays = split("validation", valid, min(config.walks, VALIDATION_WALKS))
    return FamiliarityStage(
        config.training,
        cast(FamiliarityNetwork, workshop.network("familiarity")),
        Augmenter(workshop.domain, workshop.domain.symmetries()),
        split("train", train, config.walks),
        (shown[:: max(1, len(shown) // len(strays))], strays),
        None if prior is None else cast(nn.Module, prior.trunk),
    )


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Cross-entropy, after the dynamics."""
    needs, after = ("dynamics.training",), ("prior.training", "prior.foreseen")
    return (StageSpec("familiarity.training", build, needs, after),)
