"""Scores of π_BC."""

from __future__ import annotations

import numpy as np

from hips.parts.prior.adapter import LearnedPrior
from hips.training.scoring import Exam


def score(exam: Exam) -> dict[str, float]:
    """`action_accuracy`: share of states where the likeliest action is the demonstrator's."""
    prior, data = LearnedPrior(exam.runtime), exam.data
    acting = np.flatnonzero(data.actions >= 0)
    likeliest = exam.batched(
        lambda states: prior.log_probabilities(states).argmax(axis=1), data.states[acting]
    )
    return {"action_accuracy": float((likeliest == data.actions[acting]).mean())}
