"""The subgoal-conditioned policy: imitation of random segments, then of its own greedy ways."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.domains import Grids
from hips.models.networks.heads import ReachPolicy
from hips.planner import rollouts
from hips.planner.protocols import Floats, Foresight
from hips.seeding import stream
from hips.training.batches import Batch, device_of, mean_metrics
from hips.training.config import StageConfig
from hips.training.corpus import Augmenter, Corpus
from hips.training.loop import Stage

VALIDATION_SAMPLES = 4096
ALIKE = 0.6
"""Actions with at least this share of the best one's probability are as good as it."""
PREFERENCE = 1e-6
"""How far the preferred action's log-probability lies above the best one's."""


def chunk_loss(log_probabilities: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """−log π of the demonstrated actions: mean over a chunk, and of its first action alone.

    Args:
        log_probabilities: `[B, C, A]`.
        actions: `[B, C]`, -1 beyond the subgoal and where nothing is known.

    Returns:
        The mean over all demonstrated actions, and `[B]` for the first ones (eq. of the
        segment's NLL uses these).
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
    """Random segments: states, subgoals at most `horizon` on, and the actions between."""
    starts = rng.choice(corpus.decisions, size=size)
    ends = corpus.random_ends(rng, starts, horizon)
    return pair_batch(corpus, augment, rng, starts, ends, chunk)


def pair_batch(
    corpus: Corpus,
    augment: Augmenter | None,
    rng: np.random.Generator,
    starts: np.ndarray,
    ends: np.ndarray,
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

    def __init__(self, policy: ReachPolicy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Mean NLL of the demonstrated chunk, plus that of its first action, which matters most."""
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


class ChunkObjective(PolicyObjective):
    """Imitation, and the cross-entropy of whether the policy gets there."""

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of `PolicyObjective`, plus that of `reached` `[B]`."""
        log_probabilities, reachable = self.policy.foresee(batch["states"], batch["subgoals"])
        loss, metrics = self.imitation(log_probabilities, batch["actions"])
        doubt = functional.binary_cross_entropy_with_logits(reachable, batch["reached"])
        right = ((reachable > 0) == (batch["reached"] > 0)).float().mean()
        return loss + doubt, {**metrics, "doubt": doubt.detach(), "reach_accuracy": right}


class PolicyStage(Stage):
    """Imitation of demonstrated segments."""

    name = "policy"

    def __init__(
        self, config: StageConfig, policy: ReachPolicy, train: Corpus, valid: Corpus, horizon: int
    ) -> None:
        self.config, self.horizon, self.policy = config, horizon, policy
        self.objective: PolicyObjective = PolicyObjective(policy)
        self.train, self.augment = train, Augmenter(train.domain)
        rng = stream(0, self.name, "validation")
        self.validation = segment_batch(valid, None, rng, VALIDATION_SAMPLES, horizon, policy.chunk)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random segments of the training split."""
        return segment_batch(self.train, self.augment, rng, size, self.horizon, self.policy.chunk)

    def validate(self) -> dict[str, float]:
        """NLL and accuracy on held-out segments."""
        return mean_metrics(self.objective, self.validation)


@dataclass(frozen=True, slots=True)
class CanonicalReach:
    """A policy network as the planner's `ReachPolicy`, taking one of equal ways always alike.

    Where several actions are about as good, which of them is likeliest hangs on rounding, and
    nobody could foresee it. The first of them is made the likeliest.
    """

    policy: ReachPolicy
    calls: int = 1

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """What the network would do; it never gives up."""
        device = device_of(self.policy)
        with torch.no_grad():
            found = self.policy(
                torch.from_numpy(states).to(device), torch.from_numpy(subgoals).to(device)
            )
        return Foresight(prefer_first(found.cpu().numpy().astype(np.float64)))


def prefer_first(log_probabilities: Floats) -> Floats:
    """Makes the first action that is `ALIKE` the best one the likeliest, in `[B, C, A]`."""
    best = log_probabilities.max(axis=2, keepdims=True)
    first = (log_probabilities >= best + np.log(ALIKE)).argmax(axis=2)[:, :, None]
    preferred = log_probabilities.copy()
    np.put_along_axis(preferred, first, best + PREFERENCE, axis=2)
    return preferred


class PairSource(Protocol):
    """Where pairs of states and subgoals come from."""

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Grids, Grids]:
        """At most `size` states and subgoals, both `[M, H, W]`."""
        ...


class ChunkStage(PolicyStage):
    """The policy learns to foresee its own greedy way to a subgoal, whole, and whether it arrives.

    Demonstrators take one of many equal ways, so what they do three steps on is uncertain, and the
    planner would have to ask the policy again at every step. The policy's own way, with ties broken
    alike, is one: a chunk's targets are what the policy, as it was before this stage, does. Where
    it does not get there, only the demonstrator's first action is learnt.

    Half of each batch are subgoals that a search would try, from `proposed`. There are no
    demonstrators for these, and to many of them there is no way.
    """

    name = "chunks"

    def __init__(
        self,
        config: StageConfig,
        policy: ReachPolicy,
        train: Corpus,
        valid: Corpus,
        horizon: int,
        proposed: PairSource,
    ) -> None:
        super().__init__(config, policy, train, valid, horizon)
        self.objective = ChunkObjective(policy)
        self.teacher = CanonicalReach(copy.deepcopy(policy).eval())
        self.proposed = proposed
        rng = stream(0, self.name, "validation")
        self.validation = self._mixed(self.validation, rng, VALIDATION_SAMPLES // 4)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random segments of the training split and proposed subgoals, with the teacher's ways."""
        shown = size - size // 2
        return self._mixed(super().batch(rng, shown), rng, size - shown)

    def _mixed(self, shown: Batch, rng: np.random.Generator, size: int) -> Batch:
        """Demonstrated segments, and about `size` proposed ones, as the teacher would walk them."""
        states, subgoals = self.proposed.draw(rng, size)
        unknown = torch.full((len(states), self.policy.chunk), -1)
        proposed = {
            "states": torch.from_numpy(states),
            "subgoals": torch.from_numpy(subgoals),
            "actions": unknown,
        }
        return self._foreseen({name: torch.cat([shown[name], proposed[name]]) for name in shown})

    def _foreseen(self, batch: Batch) -> Batch:
        """The same pairs with the teacher's actions where it gets there, and whether it does."""
        domain = self.train.domain
        walked = rollouts.follow(
            domain.step,
            domain.is_goal,
            self.teacher,
            batch["states"].numpy(),
            batch["subgoals"].numpy(),
            self.horizon,
        )
        steps = np.arange(self.policy.chunk)
        length = np.minimum(walked.lengths, self.policy.chunk)
        ways = np.full((len(length), self.policy.chunk), -1, dtype=np.int64)
        width = min(self.policy.chunk, walked.actions.shape[1])
        ways[:, :width] = walked.actions[:, :width]
        ways[(steps >= length[:, None]) | ~walked.success[:, None]] = -1
        # All or nothing: a continuation only fits the first action that it was made for.
        ways[:, 0] = np.where(walked.success, ways[:, 0], batch["actions"][:, 0].numpy())
        return {
            **batch,
            "actions": torch.from_numpy(ways),
            "reached": torch.from_numpy(walked.success.astype(np.float32)),
        }
