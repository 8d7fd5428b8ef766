"""Training of the Decision Transformer: the demonstrator's actions, given its steps to go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from hips.parts.dt.adapter import CONTEXT
from hips.parts.dt.network import DecisionTransformer
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter, Corpus
from hips.training.loop import Stage
from hips.training.schedule import Schedule
from hips.training.workshop import Workshop

VALIDATION_SEQUENCES = 64


class SequenceObjective(nn.Module):
    """Cross-entropy of the actions of sequences."""

    def __init__(self, transformer: DecisionTransformer) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for states `[B, CONTEXT, H, W]`, actions (-1: none) and steps to go `[B, CONTEXT]`.

        Only states in which an action was taken are embedded.
        """
        states, actions = batch["states"], batch["actions"]
        acting = actions >= 0
        embedded = self.transformer.embed(states[acting])
        features = embedded.new_zeros(*actions.shape, embedded.shape[1])
        features[acting] = embedded
        found = self.transformer(features, actions.clamp(min=0), batch["steps_to_go"])
        chosen = found[acting]
        loss = nn.functional.nll_loss(chosen, actions[acting])
        right = (chosen.argmax(dim=1) == actions[acting]).float().mean()
        return loss, {"action_accuracy": right}


class SequenceStage(Stage):
    """Learns actions from windows of demonstrations."""

    objective: SequenceObjective

    def __init__(
        self, schedule: Schedule, transformer: DecisionTransformer, train: Corpus, valid: Corpus
    ) -> None:
        self.schedule, self.train = schedule, train
        self.objective = SequenceObjective(transformer)
        self.augment = Augmenter.of(train)
        rng = stream(0, "dt", "validation")
        self.validation = self._draw(valid, None, rng, VALIDATION_SEQUENCES)

    def prepare(self) -> None:
        """Takes the length of the median demonstration as the unit of returns to go."""
        lengths = np.diff(self.train.offsets) - 1
        typical = max(1.0, float(np.median(lengths)))
        self.objective.transformer.typical_steps.fill_(typical)

    def _draw(
        self, corpus: Corpus, augment: Augmenter | None, rng: np.random.Generator, size: int
    ) -> Batch:
        """Windows of at most `CONTEXT` steps that start anywhere in a demonstration."""
        starts = rng.choice(corpus.decisions, size=size)
        ends = np.minimum(starts + CONTEXT, corpus.last[starts])
        places = np.minimum(starts[:, None] + np.arange(CONTEXT), corpus.last[starts][:, None])
        actions = corpus.action_windows(starts, ends, CONTEXT)
        grids = list(corpus.states[places].swapaxes(0, 1))
        if augment is not None:
            grids, renamed = augment(rng, grids, actions)
            assert renamed is not None
            actions = renamed
        to_go = np.maximum(corpus.last[starts][:, None] - places, 1)
        return {
            "states": torch.from_numpy(np.stack(grids, axis=1)),
            "actions": torch.from_numpy(actions),
            "steps_to_go": torch.from_numpy(to_go).float(),
        }

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random windows of the training split."""
        return self._draw(self.train, self.augment, rng, size)

    def validate(self) -> dict[str, float]:
        """Cross-entropy and accuracy on held-out windows."""
        return mean_metrics(self.objective, self.validation)


def build(workshop: Workshop) -> SequenceStage:
    """The stage of a run."""
    transformer = cast(DecisionTransformer, workshop.network("dt"))
    schedule = workshop.config.parts["dt"].training
    return SequenceStage(schedule, transformer, workshop.train, workshop.valid)


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Cross-entropy of actions."""
    return (StageSpec("dt.training", build),)
