"""Stage 6: the dynamics f(s, a), on states of the demonstrations and of random walks from them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.domains import Grids
from hips.models.networks.heads import Dynamics
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.config import StageConfig
from hips.training.corpus import Corpus
from hips.training.loop import Stage

VALIDATION_SAMPLES = 8192
MAX_WALK = 8


class DynamicsObjective(nn.Module):
    """Cross-entropy of the next state's cells, summed over the grid."""

    def __init__(self, dynamics: Dynamics) -> None:
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


def transitions(corpus: Corpus, rng: np.random.Generator, size: int) -> Batch:
    """Half of them demonstrated, the others near demonstrations.

    Random actions seldom do what matters and cannot be undone; demonstrators do.
    """
    shown = rng.choice(corpus.decisions, size=size // 2)
    states = wander(corpus, rng, size - len(shown))
    actions = rng.integers(corpus.domain.spec.num_actions, size=len(states))
    states = np.concatenate([corpus.states[shown], states])
    actions = np.concatenate([corpus.actions[shown], actions])
    return {
        "states": torch.from_numpy(states),
        "actions": torch.from_numpy(actions),
        "next_states": torch.from_numpy(corpus.domain.step(states, actions)),
    }


def wander(corpus: Corpus, rng: np.random.Generator, size: int) -> Grids:
    """States up to `MAX_WALK` random steps away from the corpus, `[size, H, W]`."""
    domain = corpus.domain
    states = corpus.states[rng.choice(len(corpus.states), size=size)]
    walks = rng.integers(MAX_WALK + 1, size=size)
    for step in range(MAX_WALK):
        going = np.flatnonzero(walks > step)
        actions = rng.integers(domain.spec.num_actions, size=len(going))
        states[going] = domain.step(states[going], actions)
    return states


class DynamicsStage(Stage):
    """Learns transitions."""

    name = "dynamics"

    def __init__(
        self, config: StageConfig, dynamics: Dynamics, train: Corpus, valid: Corpus
    ) -> None:
        self.config, self.train = config, train
        self.objective = DynamicsObjective(dynamics)
        rng = stream(0, self.name, "validation")
        self.validation = transitions(valid, rng, VALIDATION_SAMPLES)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Transitions of the training split and near it."""
        return transitions(self.train, rng, size)

    def validate(self) -> dict[str, float]:
        """Share of transitions predicted exactly, in held-out demonstrations and near them."""
        return mean_metrics(self.objective, self.validation)
