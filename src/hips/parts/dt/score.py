"""Scores of the Decision Transformer."""

from __future__ import annotations

import numpy as np

from hips.parts.dt.adapter import CONTEXT, STATES, ReturnConditionedPolicy
from hips.training.scoring import Exam

DEMONSTRATIONS = 64


def score(exam: Exam) -> dict[str, float]:
    """`action_accuracy`: share of the first steps of demonstrations that it predicts.

    It sees the demonstration so far and the steps that remained.
    """
    policy, data = ReturnConditionedPolicy(exam.runtime), exam.data
    right = total = 0
    for first, last in zip(data.offsets[:DEMONSTRATIONS], data.offsets[1:] - 1, strict=False):
        length = int(min(CONTEXT, last - first))
        if not length:
            continue
        rows = slice(first, first + length)
        features = exam.runtime.rowwise(STATES, states=data.states[rows])[0].astype(np.float64)
        actions = data.actions[rows]
        to_go = (last - np.arange(first, first + length)).astype(np.float64)
        found = policy.log_probabilities(features[None], actions[None], to_go[None])
        right += int((found[0].argmax(axis=1) == actions).sum())
        total += length
    return {"action_accuracy": right / max(total, 1)}
