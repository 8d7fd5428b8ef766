"""Training of the reach policy: imitation of demonstrated segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from hips.arrays import Floats, Grids, Ints
from hips.parts import known
from hips.parts.reach_policy import ALTERNATION, GENERATOR
from hips.parts.reach_policy.network import ReachPolicyNetwork
from hips.seeding import stream
from hips.training.batches import Batch, device_of, mean_metrics, share_of_commonest
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter, Corpus
from hips.training.loop import Stage
from hips.training.schedule import Schedule
from hips.training.segmenters import find_segmenter
from hips.training.segments import NextAction
from hips.training.workshop import Workshop

VALIDATION_SAMPLES = 4096


def chunk_loss(log_probabilities: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """−log π of the demonstrated actions: mean over a chunk, and of its first action.

    Args:
        log_probabilities: `[B, C, A]`.
        actions: `[B, C]`, -1 beyond the subgoal and where unknown.

    Returns:
        The mean over all demonstrated actions, and `[B]` for the first ones.
    """
    known = (actions >= 0).float()
    taken = log_probabilities.gather(2, actions.clamp(min=0).unsqueeze(2)).squeeze(2) * known
    return -taken.sum() / known.sum().clamp(min=1.0), -taken[:, 0]


def segment_batch(
    corpus: Corpus,
    augment: Augmenter | None,
    rng: np.random.Generator,
    size: int,
    horizon: int,
    chunk: int,
) -> Batch:
    """Random segments: states, subgoals at most `horizon` steps ahead, and actions in between."""
    starts = rng.choice(corpus.decisions, size=size)
    ends = corpus.random_ends(rng, starts, horizon)
    return pair_batch(corpus, augment, rng, starts, ends, chunk)


def pair_batch(
    corpus: Corpus,
    augment: Augmenter | None,
    rng: np.random.Generator,
    starts: Ints,
    ends: Ints,
    chunk: int,
) -> Batch:
    """The segments from `starts` to `ends` as tensors."""
    grids = [corpus.states[starts], corpus.states[ends]]
    actions = corpus.action_windows(starts, ends, chunk)
    if augment is not None:
        grids, renamed = augment(rng, grids, actions)
        assert renamed is not None
        actions = renamed
    return {
        "states": torch.from_numpy(grids[0]),
        "subgoals": torch.from_numpy(grids[1]),
        "actions": torch.from_numpy(actions),
    }


class PolicyObjective(nn.Module):
    """The policy and its imitation loss."""

    def __init__(self, policy: ReachPolicyNetwork) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Mean NLL of the demonstrated chunk plus that of its first action, which matters most."""
        return self.imitation(self.policy(batch["states"], batch["subgoals"]), batch["actions"])

    def imitation(
        self, log_probabilities: Tensor, actions: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of log-probabilities `[B, C, A]` for known actions `[B, C]`."""
        loss, first = chunk_loss(log_probabilities, actions)
        right = (log_probabilities.argmax(dim=2) == actions).float()
        known = (actions >= 0).float()
        begun = known[:, 0].sum().clamp(min=1.0)
        return loss + first.sum() / begun, {
            "first_nll": first.sum().detach() / begun,
            "first_accuracy": right[:, 0].sum() / begun,
            "chunk_accuracy": right.sum() / known.sum().clamp(min=1.0),
        }


def next_action(policy: ReachPolicyNetwork) -> NextAction:
    """Log π of the next action, from the network in training."""

    def evaluate(states: Grids, subgoals: Grids) -> Floats:
        device = device_of(policy)
        with torch.no_grad():
            found = policy(
                torch.from_numpy(states).to(device), torch.from_numpy(subgoals).to(device)
            )
        first: Floats = found[:, 0].float().cpu().numpy()
        return first

    return evaluate


class ImitationStage(Stage):
    """Imitation of demonstrated segments."""

    headline = "first_accuracy"

    def __init__(
        self,
        schedule: Schedule,
        policy: ReachPolicyNetwork,
        train: Corpus,
        valid: Corpus,
        horizon: int,
    ) -> None:
        self.schedule, self.horizon, self.policy = schedule, horizon, policy
        self.objective: PolicyObjective = PolicyObjective(policy)
        self.train, self.augment = train, Augmenter.of(train)
        rng = stream(0, "policy", "validation")
        self.validation = segment_batch(valid, None, rng, VALIDATION_SAMPLES, horizon, policy.chunk)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random segments of the training split."""
        return segment_batch(self.train, self.augment, rng, size, self.horizon, self.policy.chunk)

    def naive(self) -> dict[str, float]:
        """The commonest action in every state."""
        return {"first_accuracy": share_of_commonest(self.validation["actions"][:, 0])}

    def validate(self) -> dict[str, float]:
        """NLL and accuracy on held-out segments."""
        return mean_metrics(self.objective, self.validation)


def build(workshop: Workshop) -> ImitationStage:
    """The stage of a run."""
    config = workshop.config
    policy = cast(ReachPolicyNetwork, workshop.network("reach_policy"))
    schedule = config.parts["reach_policy"].imitation
    return ImitationStage(schedule, policy, workshop.train, workshop.valid, config.horizon)


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Imitation, alternation if the segmentation asks for it, chunking if there is a generator.

    Chunking rolls out in the simulator; 0 steps leave it out.
    """
    from hips.parts.reach_policy import alternation, chunking

    found = [StageSpec("reach_policy.imitation", build)]
    segmenter = find_segmenter(config.segmentation.method, known().values())
    if ALTERNATION in segmenter.stages:
        found.append(StageSpec(ALTERNATION, alternation.build, ("reach_policy.imitation",)))
    proposed = set(GENERATOR) <= {*config.parts, *config.warm_parts}
    if proposed and config.parts["reach_policy"].chunking.steps:
        # Exact segmentation uses the policy as these stages left it, so this comes last.
        needs = ("reach_policy.imitation", "subgoals.discrete", "prior.training")
        after = ("detector.training", "prior.foreseen")
        found.append(StageSpec("reach_policy.chunking", chunking.build, needs, after, effort=3.0))
    return found
