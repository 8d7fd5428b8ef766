"""Scores of the detector against the best segmentation."""

from __future__ import annotations

from hips.parts.detector.adapter import LearnedDetector
from hips.parts.reach_policy.adapter import GRAPH as POLICY
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.training.scoring import Exam
from hips.training.segments import against_optimum, mean_segment, pair_log_pi


def score(exam: Exam) -> dict[str, float]:
    """`objective` per trajectory, that of the exact optimum, and the mean length of a segment."""
    data, penalty = exam.data, float(exam.card.configuration["segmentation"]["penalty"])
    following = LearnedDetector(exam.runtime).following(data, exam.horizon)
    if POLICY not in exam.runtime:
        return {"segment": mean_segment(following, data.offsets)}
    policy = LearnedReachPolicy(exam.runtime)
    log_pi = pair_log_pi(policy.next_action, data, exam.horizon)
    return against_optimum(log_pi, following, data.offsets, penalty)
