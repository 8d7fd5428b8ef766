"""Scores of CQL."""

from __future__ import annotations

import numpy as np

from hips.parts.cql.adapter import LearnedQValues
from hips.training.scoring import Exam


def score(exam: Exam) -> dict[str, float]:
    """`action_accuracy`: share of states where the best action is the demonstrator's."""
    learned, data = LearnedQValues(exam.runtime), exam.data
    acting = np.flatnonzero(data.actions >= 0)
    best = exam.batched(lambda states: learned.values(states).argmax(axis=1), data.states[acting])
    return {"action_accuracy": float((best == data.actions[acting]).mean())}
