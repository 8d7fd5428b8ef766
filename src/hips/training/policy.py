"""The subgoal-conditioned policy: imitation of random segments, then of its own greedy ways."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from hips.domains import Grids
from hips.models.networks.heads import ReachPolicy
from hips.planner import rollouts
from hips.planner.protocols import Floats
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
        actions: `[B, C]`, -1 beyond the subgoal.

    Returns:
        The mean over all demonstrated actions, and `[B]` for the first ones (eq. of the
        segment's NLL uses these).
    """
    taken = log_probabilities.gather(2, actions.clamp(min=0).unsqueeze(2)).squeeze(2)
    known = (actions >= 0).float()
    return -(taken * known).sum() / known.sum().clamp(min=1.0), -taken[:, 0]


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
        log_probabilities = self.policy(batch["states"], batch["subgoals"])
        actions = batch["actions"]
        loss, first = chunk_loss(log_probabilities, actions)
        right = (log_probabilities.argmax(dim=2) == actions).float()
        return loss + first.mean(), {
            "first_nll": first.mean().detach(),
            "first_accuracy": right[:, 0].mean(),
            "chunk_accuracy": right.sum() / (actions >= 0).sum(),
        }


class PolicyStage(Stage):
    """Imitation of demonstrated segments."""

    name = "policy"

    def __init__(
        self, config: StageConfig, policy: ReachPolicy, train: Corpus, valid: Corpus, horizon: int
    ) -> None:
        self.config, self.horizon, self.policy = config, horizon, policy
        self.objective = PolicyObjective(policy)
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

    def act(self, states: Grids, subgoals: Grids) -> np.ndarray:
        """Log-probabilities `[B, C, A]`."""
        device = device_of(self.policy)
        with torch.no_grad():
            found = self.policy(
                torch.from_numpy(states).to(device), torch.from_numpy(subgoals).to(device)
            )
        return prefer_first(found.cpu().numpy().astype(np.float64))


def prefer_first(log_probabilities: Floats) -> Floats:
    """Makes the first action that is `ALIKE` the best one the likeliest, in `[B, C, A]`."""
    best = log_probabilities.max(axis=2, keepdims=True)
    first = (log_probabilities >= best + np.log(ALIKE)).argmax(axis=2)[:, :, None]
    preferred = log_probabilities.copy()
    np.put_along_axis(preferred, first, best + PREFERENCE, axis=2)
    return preferred


class ChunkStage(PolicyStage):
    """The policy learns to foresee its own greedy way to a subgoal, whole.

    Demonstrators take one of many equal ways, so what they do three steps on is uncertain, and the
    planner would have to ask the policy again at every step. The policy's own way, with ties broken
    alike, is one: a chunk's targets are what the policy, as it was before this stage, does. Where
    it does not get there, only the demonstrator's first action is learnt.
    """

    name = "chunks"

    def __init__(
        self, config: StageConfig, policy: ReachPolicy, train: Corpus, valid: Corpus, horizon: int
    ) -> None:
        super().__init__(config, policy, train, valid, horizon)
        self.teacher = CanonicalReach(copy.deepcopy(policy).eval())
        self.validation = self._foreseen(self.validation)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random segments of the training split, with the teacher's continuation."""
        return self._foreseen(super().batch(rng, size))

    def _foreseen(self, batch: Batch) -> Batch:
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
        return {**batch, "actions": torch.from_numpy(ways)}
