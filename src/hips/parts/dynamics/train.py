"""Training of the dynamics on demonstrated transitions and random ones near them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.parts.dynamics.config import DynamicsConfig
from hips.parts.dynamics.network import DynamicsNetwork
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Corpus, wander
from hips.training.loop import Stage
from hips.training.workshop import Workshop

VALIDATION_SAMPLES = 8192


class DynamicsObjective(nn.Module):
    """Cross-entropy of the next state's cells, summed over the grid."""

    def __init__(self, dynamics: DynamicsNetwork) -> None:
        super().__init__()
        self.dynamics = dynamics

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for transitions (s, a, s')."""
        scores = self.dynamics(batch["states"], batch["actions"])
        following = batch["next_states"]
        loss = functional.cross_entropy(
            scores.flatten(0, 2), following.long().flatten(), reduction="sum"
        ) / len(following)
        exact = (scores.argmax(dim=-1) == following).all(dim=2).all(dim=1).float().mean()
        return loss, {"exact": exact.detach()}


def transitions(
    corpus: Corpus, rng: np.random.Generator, size: int, wandering: float = 0.5
) -> Batch:
    """A batch of transitions: demonstrated ones, and a share of random ones near demonstrations.

    Random actions rarely cause the important, irreversible changes; demonstrators do.
    """
    near = round(size * wandering)
    shown = rng.choice(corpus.decisions, size=size - near)
    found = [(corpus.states[shown], corpus.actions[shown], corpus.states[shown + 1])]
    if near:
        states = wander(corpus, rng, near)
        actions = rng.integers(corpus.domain.spec.num_actions, size=near)
        found.append((states, actions, corpus.domain.step(states, actions)))
    states, actions, following = (np.concatenate(column) for column in zip(*found, strict=True))
    return {
        "states": torch.from_numpy(states),
        "actions": torch.from_numpy(actions),
        "next_states": torch.from_numpy(following),
    }


class DynamicsStage(Stage):
    """Learns transitions."""

    headline = "exact"

    def __init__(
        self,
        config: DynamicsConfig,
        dynamics: DynamicsNetwork,
        train: Corpus,
        valid: Corpus,
    ) -> None:
        self.schedule, self.wandering, self.train = config.training, config.wandering, train
        self.objective = DynamicsObjective(dynamics)
        rng = stream(0, "dynamics", "validation")
        self.validation = transitions(valid, rng, VALIDATION_SAMPLES, self.wandering)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Transitions of the training split and near it."""
        return transitions(self.train, rng, size, self.wandering)

    def naive(self) -> dict[str, float]:
        """That nothing changes."""
        same = self.validation["states"] == self.validation["next_states"]
        return {"exact": float(same.flatten(1).all(dim=1).float().mean())}

    def validate(self) -> dict[str, float]:
        """Share of transitions predicted exactly, in held-out demonstrations and near them."""
        return mean_metrics(self.objective, self.validation)


def build(workshop: Workshop) -> DynamicsStage:
    """The stage of a run."""
    dynamics = cast(DynamicsNetwork, workshop.network("dynamics"))
    config = workshop.config.parts["dynamics"]
    return DynamicsStage(config, dynamics, *workshop.visited)


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Cross-entropy of the next state's cells."""
    return (StageSpec("dynamics.training", build),)
