"""Subgoals for the verifier to judge, and whether the policy reaches them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Bools, Grids
from hips.domains.base import Domain
from hips.models.runtime import GraphRuntime
from hips.parts.adasubs.adapter import generators
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.planner.proposals import screen
from hips.planner.rollouts import RolloutLimits, Simulator, follow
from hips.training.scoring import chunks

CANDIDATES = 4
"""Subgoals per state and distance: more than a search takes, for examples of both kinds."""
AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class Attempts:
    """Pairs of states and subgoals, both `[M, H, W]`, and whether the policy arrived, `[M]`."""

    states: Grids
    subgoals: Grids
    reached: Bools


def propose(domain: Domain, runtime: GraphRuntime, states: Grids) -> tuple[Grids, Grids]:
    """Legal subgoals of all distances: their states and themselves, both `[M, H, W]`."""
    origins, subgoals = [states[:0]], [states[:0]]
    for decoder in generators(runtime, domain.spec.num_symbols, CANDIDATES):
        for rows in chunks(len(states), AT_ONCE):
            usable = screen(domain, states[rows], decoder.propose(states[rows])).usable
            assert usable.targets is not None
            origins.append(states[rows][usable.parents])
            subgoals.append(usable.targets)
    return np.concatenate(origins), np.concatenate(subgoals)


def attempt(
    domain: Domain, runtime: GraphRuntime, states: Grids, subgoals: Grids, horizon: int
) -> Attempts:
    """Follows the policy from states to subgoals, both `[M, H, W]`, for at most `horizon` steps."""
    simulator = Simulator(domain.step, domain.is_goal)
    policy, limits = LearnedReachPolicy(runtime), RolloutLimits(horizon)
    reached = [
        follow(simulator, policy, states[rows], subgoals[rows], limits).success
        for rows in chunks(len(states))
    ]
    return Attempts(states, subgoals, np.concatenate(reached))
