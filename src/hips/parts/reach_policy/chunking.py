"""Training of the reach policy to predict its own greedy rollouts and whether they arrive."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hips.arrays import Floats, Grids
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.network import ReachPolicyNetwork
from hips.parts.reach_policy.train import VALIDATION_SAMPLES, ImitationStage, PolicyObjective
from hips.parts.subgoals.adapter import VqGenerator
from hips.planner.proposals import screen
from hips.planner.protocols import Foresight, SubgoalGenerator
from hips.planner.rollouts import RolloutLimits, Simulator, follow
from hips.seeding import stream
from hips.training.batches import Batch, device_of, share_of_commonest
from hips.training.corpus import Corpus, wander
from hips.training.schedule import Schedule
from hips.training.workshop import Workshop

ALIKE = 0.6
"""Actions with at least this share of the best action's probability count as equally good."""
PREFERENCE = 1e-6
"""Margin of the preferred action's log-probability above the best one's."""
STATES_AT_ONCE = 16
MAX_ROUNDS, FIRST_ROUNDS = 64, 8
"""Number of draws before giving up on a generator of few usable proposals, and of hardly any."""


class ChunkObjective(PolicyObjective):
    """Imitation, plus the cross-entropy of whether the policy arrives."""

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of `PolicyObjective`, plus that of `reached` `[B]`."""
        log_probabilities, reachable = self.policy.foresee(batch["states"], batch["subgoals"])
        loss, metrics = self.imitation(log_probabilities, batch["actions"])
        reach_loss = functional.binary_cross_entropy_with_logits(reachable, batch["reached"])
        right = ((reachable > 0) == (batch["reached"] > 0)).float().mean()
        return loss + reach_loss, {
            **metrics,
            "reach_loss": reach_loss.detach(),
            "reach_accuracy": right,
        }


@dataclass(frozen=True, slots=True)
class CanonicalReach:
    """A policy network as the planner's `ReachPolicy`, with consistent tie-breaking.

    Among about equally good actions, the likeliest depends on rounding and cannot be predicted.
    This makes the first of them the likeliest.
    """

    policy: ReachPolicyNetwork
    calls: int = 1

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """The network's predictions; it never gives up."""
        device = device_of(self.policy)
        with torch.no_grad():
            found = self.policy(
                torch.from_numpy(states).to(device), torch.from_numpy(subgoals).to(device)
            )
        return Foresight(prefer_first(found.float().cpu().numpy().astype(np.float64)))


def prefer_first(log_probabilities: Floats) -> Floats:
    """Makes the first action within `ALIKE` of the best one the likeliest, in `[B, C, A]`."""
    best = log_probabilities.max(axis=2, keepdims=True)
    first = (log_probabilities >= best + np.log(ALIKE)).argmax(axis=2)[:, :, None]
    preferred = log_probabilities.copy()
    np.put_along_axis(preferred, first, best + PREFERENCE, axis=2)
    return preferred


class PairSource(Protocol):
    """A source of pairs of states and subgoals."""

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Grids, Grids]:
        """At most `size` states and subgoals, both `[M, H, W]`."""
        ...


class ChunkingStage(ImitationStage):
    """The policy learns to predict its own greedy rollout to a subgoal, and whether it arrives.

    Demonstrators take one of many equally good paths, so their actions a few steps ahead are
    uncertain, and the planner would have to query the policy at every step. The policy's own
    rollout, with ties broken consistently, is unique: the targets of a chunk are the actions of a
    frozen copy of the policy from before this stage. Where the copy does not arrive, only the
    demonstrator's first action is learned.

    Half of each batch are subgoals that a search would try, from `proposed`. These have no
    demonstrations, and many of them are unreachable.
    """

    headline = "reach_accuracy"

    def __init__(
        self,
        schedule: Schedule,
        policy: ReachPolicyNetwork,
        train: Corpus,
        valid: Corpus,
        horizon: int,
        proposed: PairSource,
    ) -> None:
        super().__init__(schedule, policy, train, valid, horizon)
        self.objective = ChunkObjective(policy)
        self.teacher = CanonicalReach(copy.deepcopy(policy).eval())
        self.proposed = proposed
        rng = stream(0, "chunks", "validation")
        self.validation = self._mixed(self.validation, rng, VALIDATION_SAMPLES // 4)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random training segments and proposed subgoals, with the teacher's actions."""
        shown = size - size // 2
        return self._mixed(super().batch(rng, shown), rng, size - shown)

    def naive(self) -> dict[str, float]:
        """Whether the policy arrives, guessed the same for every subgoal."""
        return {"reach_accuracy": share_of_commonest(self.validation["reached"])}

    def _mixed(self, shown: Batch, rng: np.random.Generator, size: int) -> Batch:
        """Demonstrated segments and about `size` proposed ones, with the teacher's actions."""
        states, subgoals = self.proposed.draw(rng, size)
        unknown = torch.full((len(states), self.policy.chunk), -1)
        proposed = {
            "states": torch.from_numpy(states),
            "subgoals": torch.from_numpy(subgoals),
            "actions": unknown,
        }
        return self._foreseen({name: torch.cat([shown[name], proposed[name]]) for name in shown})

    def _foreseen(self, batch: Batch) -> Batch:
        """The same pairs with the teacher's actions where it arrives, and whether it does."""
        domain = self.train.domain
        walked = follow(
            Simulator(domain.step, domain.is_goal),
            self.teacher,
            batch["states"].numpy(),
            batch["subgoals"].numpy(),
            RolloutLimits(self.horizon),
        )
        steps = np.arange(self.policy.chunk)
        length = np.minimum(walked.lengths, self.policy.chunk)
        ways = np.full((len(length), self.policy.chunk), -1, dtype=np.int64)
        width = min(self.policy.chunk, walked.actions.shape[1])
        ways[:, :width] = walked.actions[:, :width]
        ways[(steps >= length[:, None]) | ~walked.success[:, None]] = -1
        # All or nothing: a continuation only fits its own first action.
        ways[:, 0] = np.where(walked.success, ways[:, 0], batch["actions"][:, 0].numpy())
        return {
            **batch,
            "actions": torch.from_numpy(ways),
            "reached": torch.from_numpy(walked.success.astype(np.float32)),
        }


class ProposedPairs:
    """Subgoals that a search would try: a generator's proposals near demonstrations."""

    def __init__(self, generator: SubgoalGenerator, corpus: Corpus) -> None:
        self.generator, self.corpus = generator, corpus

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Grids, Grids]:
        """At most `size` pairs, both `[M, H, W]`; fewer only if few proposals are usable."""
        states: list[Grids] = []
        targets: list[Grids] = []
        found = rounds = 0
        while found < size and rounds < MAX_ROUNDS:
            origins, decoded = self._round(rng)
            states.append(origins)
            targets.append(decoded)
            found += len(origins)
            rounds += 1
            if rounds == FIRST_ROUNDS and found * MAX_ROUNDS < size * FIRST_ROUNDS:
                break  # even all rounds would not find enough
        chosen = rng.permutation(found)[:size]
        return np.concatenate(states)[chosen], np.concatenate(targets)[chosen]

    def _round(self, rng: np.random.Generator) -> tuple[Grids, Grids]:
        states = wander(self.corpus, rng, STATES_AT_ONCE)
        usable = screen(self.corpus.domain, states, self.generator.propose(states)).usable
        assert usable.targets is not None
        return states[usable.parents], usable.targets


def build(workshop: Workshop) -> ChunkingStage:
    """The stage of a run; it trains on the proposals of the final generator."""
    config, own = workshop.config, workshop.config.parts["reach_policy"]
    policy = cast(ReachPolicyNetwork, workshop.network("reach_policy"))
    runtime = workshop.runtime("subgoals", "prior")
    prior = LearnedPrior(runtime)
    generator = VqGenerator(workshop.domain, runtime, prior, own.proposal_top_p)
    proposed = ProposedPairs(generator, workshop.train)
    return ChunkingStage(
        own.chunking, policy, workshop.train, workshop.valid, config.horizon, proposed
    )
