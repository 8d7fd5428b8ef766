"""Stage 5: the heuristic, a distribution over the remaining steps of the demonstration."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from hips.demonstrations.labels import DEAD_END, StateLabels
from hips.domains import Grids
from hips.models.networks.heads import Heuristic, Prior
from hips.models.networks.layers import with_idle_blocks
from hips.planner.rows import as_rows, hash_rows
from hips.seeding import stream
from hips.statistics import spearman
from hips.training.batches import Batch, device_of, mean_metrics, parts
from hips.training.config import HeuristicConfig
from hips.training.corpus import Augmenter, Corpus
from hips.training.loop import Stage

VALIDATION_SAMPLES = 4096
HELD_OUT = 50
"""One labelled state in so many is kept for validation."""


def soft_targets(distances: Tensor, centres: Tensor, deviation: float) -> Tensor:
    """A narrow bell around each distance: `[B]` -> `[B, bins]`, rows summing to 1."""
    clamped = distances.clamp(max=float(centres[-1])).unsqueeze(1)
    return torch.softmax(-0.5 * ((centres - clamped) / deviation) ** 2, dim=1)


class HeuristicObjective(nn.Module):
    """Cross-entropy with softened distances."""

    def __init__(self, heuristic: Heuristic) -> None:
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
    """Regression of the remaining steps; the trunk starts from the prior's, which knows the way.

    With labelled states, half of a batch are such, and half of the score is of some that are held
    out; dead ends are as far as the heuristic counts.
    """

    name = "heuristic"
    config: HeuristicConfig

    def __init__(
        self,
        config: HeuristicConfig,
        heuristic: Heuristic,
        prior: Prior,
        train: Corpus,
        valid: Corpus,
        labels: StateLabels | None = None,
    ) -> None:
        self.config, self.train, self.augment = config, train, Augmenter(train.domain)
        self.heuristic, self.prior = heuristic, prior
        self.objective = HeuristicObjective(heuristic)
        self.remaining = train.remaining
        self.labels: StateLabels | None = None
        self.held_out: StateLabels | None = None
        if labels is not None:
            self.labels, self.held_out = _split(labels)
        rng = stream(0, self.name, "validation")
        chosen = rng.choice(len(valid.states), size=VALIDATION_SAMPLES)
        self.validation = self._batch(valid.states[chosen], valid.remaining[chosen])
        self.labelled: Batch = {}
        if self.held_out is not None:
            chosen = rng.choice(len(self.held_out), size=VALIDATION_SAMPLES)
            self.labelled = self._batch(
                self.held_out.states[chosen], self.held_out.remaining[chosen]
            )

    def prepare(self) -> None:
        """Takes over the prior's trunk, unless that one has another width or more blocks."""
        own = self.heuristic.trunk.state_dict()
        start = with_idle_blocks(self.prior.trunk.state_dict(), own)
        if {name: value.shape for name, value in start.items()} == {
            name: value.shape for name, value in own.items()
        }:
            self.heuristic.trunk.load_state_dict(start)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Any states of the training split, goals included, and labelled ones."""
        labelled = 0 if self.labels is None else size // 2
        chosen = rng.choice(len(self.train.states), size=size - labelled)
        states, remaining = self.train.states[chosen], self.remaining[chosen]
        if self.labels is not None:
            chosen = rng.choice(len(self.labels), size=labelled)
            states = np.concatenate([states, self.labels.states[chosen]])
            remaining = np.concatenate([remaining, self.labels.remaining[chosen]])
        grids, _ = self.augment(rng, [states])
        return self._batch(grids[0], remaining)

    def _batch(self, states: Grids, remaining: npt.NDArray[np.integer[Any]]) -> Batch:
        distances = np.where(remaining == DEAD_END, self.config.max_distance, remaining)
        return {
            "states": torch.from_numpy(states),
            "remaining": torch.from_numpy(distances).float(),
        }

    def validate(self) -> dict[str, float]:
        """Loss, mean absolute error and Spearman's rank correlation on held-out demonstrations.

        With labels the score is the mean of the losses on demonstrations and on labelled states.
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


def _split(labels: StateLabels) -> tuple[StateLabels, StateLabels | None]:
    """Labels to learn from and labels to validate with, equal states on the same side."""
    held = hash_rows(as_rows(labels.states)) % HELD_OUT == 0
    if held.all() or not held.any():
        return labels, None
    return labels.subset(~held), labels.subset(held)
