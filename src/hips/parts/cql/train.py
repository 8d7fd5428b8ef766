"""Training of CQL: double Q-learning on demonstrations, with a conservative penalty."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.parts.cql.config import CqlConfig
from hips.parts.cql.network import QNetwork
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter, Corpus
from hips.training.loop import Stage
from hips.training.workshop import Workshop

VALIDATION_SAMPLES = 4096


class CqlObjective(nn.Module):
    """The temporal-difference loss and the penalty on actions outside the data.

    The network chooses the best next action and the target network, an older copy, evaluates it.
    """

    updates: Tensor

    def __init__(self, values: QNetwork, conservatism: float, target_every: int) -> None:
        super().__init__()
        self.values = values
        self.target = copy.deepcopy(values).requires_grad_(False)
        self.conservatism, self.target_every = conservatism, target_every
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.train()

    def train(self, mode: bool = True) -> Self:
        """Changes the mode of the network; the target network is never in training."""
        super().train(mode)
        self.target.eval()
        return self

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for states, actions, rewards `[B]`, later states and their discounts `[B]`."""
        if self.training:
            self._update_target()
        # One pass, so that both states are normalised with the same statistics.
        joint = self.values(torch.cat([batch["states"], batch["following"]]))
        values, later = joint.chunk(2)
        with torch.no_grad():
            chosen = later.argmax(dim=1, keepdim=True)
            estimates = self.target(batch["following"]).gather(1, chosen).squeeze(1)
            goals = batch["rewards"] + batch["discounts"] * estimates
        taken = values.gather(1, batch["actions"].unsqueeze(1)).squeeze(1)
        error = functional.smooth_l1_loss(taken, goals)
        penalty = (values.logsumexp(dim=1) - taken).mean()
        right = (values.argmax(dim=1) == batch["actions"]).float().mean()
        return error + self.conservatism * penalty, {
            "td_error": error.detach(),
            "penalty": penalty.detach(),
            "action_accuracy": right,
        }

    def _update_target(self) -> None:
        if int(self.updates) % self.target_every == 0:
            self.target.load_state_dict(self.values.state_dict())
        self.updates += 1


class CqlStage(Stage):
    """Learns Q-values from transitions of several steps."""

    objective: CqlObjective

    def __init__(self, config: CqlConfig, values: QNetwork, train: Corpus, valid: Corpus) -> None:
        self.schedule, self.config = config.training, config
        self.objective = CqlObjective(values, config.conservatism, config.target_every)
        self.train, self.augment = train, Augmenter.of(train)
        rng = stream(0, "cql", "validation")
        self.validation = self._draw(valid, None, rng, VALIDATION_SAMPLES)

    def _draw(
        self, corpus: Corpus, augment: Augmenter | None, rng: np.random.Generator, size: int
    ) -> Batch:
        starts = rng.choice(corpus.decisions, size=size)
        ends = np.minimum(starts + self.config.num_steps, corpus.last[starts])
        arrived = corpus.domain.is_goal(corpus.states[ends])
        grids, actions = [corpus.states[starts], corpus.states[ends]], corpus.actions[starts]
        if augment is not None:
            grids, renamed = augment(rng, grids, actions)
            assert renamed is not None
            actions = renamed
        discount = self.config.discount ** (ends - starts).astype(np.float64)
        rewards = np.where(arrived, discount / self.config.discount, 0.0)
        return {
            "states": torch.from_numpy(grids[0]),
            "following": torch.from_numpy(grids[1]),
            "actions": torch.from_numpy(actions),
            "rewards": torch.from_numpy(rewards).float(),
            "discounts": torch.from_numpy(np.where(arrived, 0.0, discount)).float(),
        }

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random transitions of the training split."""
        return self._draw(self.train, self.augment, rng, size)

    def validate(self) -> dict[str, float]:
        """Losses and accuracy on held-out transitions."""
        return mean_metrics(self.objective, self.validation)

    def rate_scales(self) -> dict[nn.Module, float]:
        """Only the network is optimised, not the target network."""
        return {self.objective.values: 1.0}


def build(workshop: Workshop) -> CqlStage:
    """The stage of a run."""
    values = cast(QNetwork, workshop.network("cql"))
    return CqlStage(workshop.config.parts["cql"], values, workshop.train, workshop.valid)


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Double Q-learning."""
    return (StageSpec("cql.training", build),)
