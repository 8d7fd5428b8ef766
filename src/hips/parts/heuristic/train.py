"""Training of the heuristic on the remaining steps of demonstrations and labelled states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from hips.arrays import Grids
from hips.data.labels import DEAD_END, StateLabels
from hips.parts.heuristic.config import HeuristicConfig
from hips.parts.heuristic.network import HeuristicNetwork
from hips.parts.heuristic.targets import Targets, find_targets
from hips.planner.packing import hash_states, pack
from hips.seeding import stream
from hips.statistics import spearman
from hips.training.batches import Batch, device_of, mean_metrics, parts
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter
from hips.training.loop import Stage
from hips.training.weights import adopt_trunk
from hips.training.workshop import Workshop

VALIDATION_SAMPLES = 4096
HELD_OUT = 50
"""One in this many labelled states is held out for validation."""


def soft_targets(distances: Tensor, centres: Tensor, deviation: float) -> Tensor:
    """A narrow Gaussian around each distance: `[B]` -> `[B, bins]`; rows sum to 1."""
    clamped = distances.clamp(max=float(centres[-1])).unsqueeze(1)
    return torch.softmax(-0.5 * ((centres - clamped) / deviation) ** 2, dim=1)


class HeuristicObjective(nn.Module):
    """Cross-entropy with softened distances."""

    def __init__(self, heuristic: HeuristicNetwork) -> None:
        super().__init__()
        self.heuristic = heuristic

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for states `[B, H, W]` and remaining steps `[B]`."""
        log_probabilities = self.heuristic.logits(batch["states"])
        targets = soft_targets(batch["remaining"], self.heuristic.centres, self.heuristic.deviation)
        loss = -(targets * log_probabilities).sum(dim=1).mean()
        means = (log_probabilities.exp() * self.heuristic.centres).sum(dim=1)
        error = (means - batch["remaining"]).abs().mean()
        return loss, {"error": error.detach()}


class HeuristicStage(Stage):
    """Regression of the remaining steps; the prior's trunk, if any, initialises its own.

    Given labelled states, they are half of each batch, and held-out ones are half of the score;
    dead ends have the largest distance.
    """

    headline = "error"

    def __init__(
        self,
        config: HeuristicConfig,
        heuristic: HeuristicNetwork,
        trunk: nn.Module | None,
        augment: Augmenter,
        targets: Targets,
    ) -> None:
        self.schedule, self.max_distance = config.training, config.max_distance
        self.train, self.augment = targets.train, augment
        self.heuristic, self.trunk = heuristic, trunk
        self.objective = HeuristicObjective(heuristic)
        self.labels: StateLabels | None = None
        self.held_out: StateLabels | None = None
        if targets.labels is not None:
            self.labels, self.held_out = _split(targets.labels)
        rng = stream(0, "heuristic", "validation")
        self.validation = self._batch(*_drawn(targets.valid, rng, VALIDATION_SAMPLES))
        self.labelled: Batch = {}
        if self.held_out is not None:
            self.labelled = self._batch(*_drawn(self.held_out, rng, VALIDATION_SAMPLES))

    def prepare(self) -> None:
        """Copies the prior's trunk, unless that has another width or more blocks."""
        if self.trunk is not None:
            adopt_trunk(self.trunk, self.heuristic.trunk)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """States of the training split, including goals, and labelled states."""
        labelled = 0 if self.labels is None else size // 2
        states, remaining = _drawn(self.train, rng, size - labelled)
        if self.labels is not None:
            more, distances = _drawn(self.labels, rng, labelled)
            states = np.concatenate([states, more])
            remaining = np.concatenate([remaining, distances])
        grids, _ = self.augment(rng, [states])
        return self._batch(grids[0], remaining)

    def _batch(self, states: Grids, remaining: npt.NDArray[np.integer[Any]]) -> Batch:
        distances = np.where(remaining == DEAD_END, self.max_distance, remaining)
        return {
            "states": torch.from_numpy(states),
            "remaining": torch.from_numpy(distances).float(),
        }

    def naive(self) -> dict[str, float]:
        """The median distance in every state."""
        remaining = self.validation["remaining"]
        return {"error": float((remaining - remaining.median()).abs().mean())}

    def validate(self) -> dict[str, float]:
        """Loss, mean absolute error and Spearman's rank correlation on held-out demonstrations.

        With labels, the score is the mean of the losses on demonstrations and labelled states.
        """
        pieces = parts(self.validation, device_of(self.heuristic))
        predicted = torch.cat([self.heuristic(part["states"]).cpu() for part in pieces])
        rank = spearman(predicted.numpy(), self.validation["remaining"].numpy())
        metrics = {**mean_metrics(self.objective, self.validation), "spearman": rank}
        if self.labelled:
            labelled = mean_metrics(self.objective, self.labelled)["score"]
            metrics["labelled"] = labelled
            metrics["score"] = (metrics["score"] + labelled) / 2
        return metrics


def _drawn(
    labels: StateLabels, rng: np.random.Generator, size: int
) -> tuple[Grids, npt.NDArray[np.int32]]:
    """Random states `[size, H, W]` and their labels `[size]`."""
    chosen = rng.choice(len(labels), size=size)
    return labels.states[chosen], labels.remaining[chosen]


def _split(labels: StateLabels) -> tuple[StateLabels, StateLabels | None]:
    """Labels for training and for validation; equal states are on the same side."""
    held = hash_states(pack(labels.states)) % HELD_OUT == 0
    if held.all() or not held.any():
        return labels, None
    return labels.subset(~held), labels.subset(held)


def build(workshop: Workshop) -> HeuristicStage:
    """The stage of a run, with the prior's trunk if there is one."""
    prior = workshop.networks.get("prior")
    config: HeuristicConfig = workshop.config.parts["heuristic"]
    return HeuristicStage(
        config,
        cast(HeuristicNetwork, workshop.network("heuristic")),
        None if prior is None else cast(nn.Module, prior.trunk),
        find_augmenter(workshop),
        find_targets(workshop),
    )


def find_augmenter(workshop: Workshop) -> Augmenter:
    """All symmetries, if wanted, or those of the demonstrations."""
    config: HeuristicConfig = workshop.config.parts["heuristic"]
    if config.mirrored:
        return Augmenter(workshop.domain, workshop.domain.symmetries())
    return Augmenter.of(workshop.train)


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Regression of the remaining steps; then, if wanted, of what is backed up from it."""
    from hips.parts.heuristic import backup

    own: HeuristicConfig = config.parts["heuristic"]
    needs = ("dynamics.training",) if own.needs_dynamics else ()
    if own.strays:
        needs = (*needs, "familiarity.training")
    after = ("prior.training", "prior.foreseen")  # its trunk starts from the prior's
    found = [StageSpec("heuristic.training", build, needs, after)]
    if own.backup.steps:
        found.append(StageSpec("heuristic.backup", backup.build, (*needs, "heuristic.training")))
    return found
