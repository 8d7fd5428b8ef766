"""Scores of the reach policy on demonstrated subgoals."""

from __future__ import annotations

from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.planner.rollouts import RolloutLimits, Simulator, follow
from hips.training.scoring import Exam


def score(exam: Exam) -> dict[str, float]:
    """`reach`: share of demonstrated subgoals that the policy reaches within H steps."""
    policy = LearnedReachPolicy(exam.runtime)
    simulator = Simulator(exam.domain.step, exam.domain.is_goal)
    limits = RolloutLimits(exam.horizon)
    reached = sum(
        int(follow(simulator, policy, states, subgoals, limits).success.sum())
        for states, subgoals in exam.segments()
    )
    return {"reach": reached / len(exam.starts)}
