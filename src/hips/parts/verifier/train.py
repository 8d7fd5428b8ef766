"""Training of the verifier: which proposed subgoals the reach policy arrives at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.arrays import Bools, Grids
from hips.parts.verifier.attempts import Attempts, attempt, propose
from hips.parts.verifier.network import VerifierNetwork
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter, Corpus, wander
from hips.training.loop import Stage
from hips.training.schedule import Schedule
from hips.training.workshop import Workshop

VALIDATION_STATES = 128


class VerifierObjective(nn.Module):
    """Cross-entropy of whether the policy arrives."""

    def __init__(self, verifier: VerifierNetwork) -> None:
        super().__init__()
        self.verifier = verifier

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for states and subgoals `[B, H, W]` and `reached` `[B]`."""
        logits = self.verifier.logits(batch["states"], batch["subgoals"])
        loss = functional.binary_cross_entropy_with_logits(logits, batch["reached"])
        right = ((logits > 0) == (batch["reached"] > 0)).float().mean()
        return loss, {"accuracy": right}


class VerifierStage(Stage):
    """Learns from attempts that were made before its first step."""

    def __init__(
        self,
        schedule: Schedule,
        verifier: VerifierNetwork,
        augment: Augmenter,
        train: Attempts,
        valid: Attempts,
    ) -> None:
        self.schedule, self.augment, self.train = schedule, augment, train
        self.objective = VerifierObjective(verifier)
        self.validation = _tensors([valid.states, valid.subgoals], valid.reached)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random attempts."""
        chosen = rng.choice(len(self.train.reached), size=size)
        grids = [self.train.states[chosen], self.train.subgoals[chosen]]
        grids, _ = self.augment(rng, grids)
        return _tensors(grids, self.train.reached[chosen])

    def validate(self) -> dict[str, float]:
        """Cross-entropy and accuracy on attempts from held-out states."""
        return mean_metrics(self.objective, self.validation)


def _tensors(grids: Sequence[Grids], reached: Bools) -> Batch:
    return {
        "states": torch.from_numpy(grids[0]),
        "subgoals": torch.from_numpy(grids[1]),
        "reached": torch.from_numpy(reached).float(),
    }


def _attempts(workshop: Workshop, corpus: Corpus, split: str, count: int) -> Attempts:
    """Attempts at subgoals proposed near `count` states and at as many demonstrated ones."""
    rng = stream(workshop.config.seed, "verifier", split)
    horizon, runtime = workshop.config.horizon, workshop.runtime("adasubs", "reach_policy")
    states, subgoals = propose(workshop.domain, runtime, wander(corpus, rng, count))
    starts = rng.choice(corpus.decisions, size=count)
    ends = corpus.random_ends(rng, starts, horizon)
    states = np.concatenate([states, corpus.states[starts]])
    subgoals = np.concatenate([subgoals, corpus.states[ends]])
    return attempt(workshop.domain, runtime, states, subgoals, horizon)


def build(workshop: Workshop) -> VerifierStage:
    """The stage of a run: makes the attempts with the trained generators and policy."""
    config = workshop.config.parts["verifier"]
    workshop.message(f"trying the subgoals proposed for {config.states} states")
    return VerifierStage(
        config.training,
        cast(VerifierNetwork, workshop.network("verifier")),
        Augmenter.of(workshop.train),
        _attempts(workshop, workshop.train, "train", config.states),
        _attempts(workshop, workshop.valid, "validation", min(config.states, VALIDATION_STATES)),
    )


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Cross-entropy, after the generators and the policy."""
    needs = ("adasubs.training", "reach_policy.imitation")
    return (StageSpec("verifier.training", build, needs, after=("reach_policy.chunking",)),)
