"""Scores of decoded subgoals."""

from __future__ import annotations

import numpy as np

from hips.arrays import Grids, Ints
from hips.parts.reach_policy.adapter import GRAPH as POLICY
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals.adapter import ENCODER, decode
from hips.planner.rollouts import RolloutLimits, Simulator, follow
from hips.statistics import perplexity
from hips.training.scoring import Exam


def score(exam: Exam) -> dict[str, float]:
    """`coverage`, `codes_in_use`, and `usable` where the model has a policy.

    coverage: share of true next subgoals that are exactly among the K decoded ones.
    codes_in_use: perplexity of the codes of demonstrated subgoals, divided by K.
    usable: share of distinct decoded subgoals that are legal and reached by the policy.
    """
    num_codes = int(exam.card.parts["subgoals"].configuration["num_codes"])
    codes = np.arange(num_codes)
    covered = proposed = useful = 0
    for at in exam.starts:
        state = exam.data.states[at : at + 1]
        targets = _decoded(exam, state, codes)
        covered += bool((targets == exam.data.states[exam.ends[at]]).all(axis=(1, 2)).any())
        targets = targets[(targets != state).any(axis=(1, 2))]
        proposed += len(targets)
        useful += _reached(exam, state, targets)
    found = {
        "coverage": covered / len(exam.starts),
        "codes_in_use": _codes_used(exam) / num_codes,
    }
    return {**found, "usable": useful / max(1, proposed)} if POLICY in exam.runtime else found


def _decoded(exam: Exam, state: Grids, codes: Ints) -> Grids:
    """The distinct subgoals of one state `[1, H, W]`."""
    scores = decode(exam.runtime, state, np.zeros_like(codes), codes)
    return np.unique(exam.domain.decode(scores, np.repeat(state, len(codes), axis=0)), axis=0)


def _reached(exam: Exam, state: Grids, targets: Grids) -> int:
    """Number of targets that are legal and reached."""
    if POLICY not in exam.runtime:
        return 0
    targets = targets[exam.domain.is_legal(targets, np.repeat(state, len(targets), axis=0))]
    if not len(targets):
        return 0
    starts = np.repeat(state, len(targets), axis=0)
    simulator = Simulator(exam.domain.step, exam.domain.is_goal)
    policy = LearnedReachPolicy(exam.runtime)
    ended = follow(simulator, policy, starts, targets, RolloutLimits(exam.horizon))
    return int(ended.success.sum())


def _codes_used(exam: Exam) -> float:
    codes = [
        exam.runtime.rowwise(ENCODER, states=states, subgoals=subgoals)[0]
        for states, subgoals in exam.segments()
    ]
    return perplexity(np.bincount(np.concatenate(codes)))
