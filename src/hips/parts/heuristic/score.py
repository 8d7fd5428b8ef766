"""Scores of the heuristic."""

from __future__ import annotations

import numpy as np

from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.statistics import spearman
from hips.training.scoring import Exam


def score(exam: Exam) -> dict[str, float]:
    """`error` in steps, and `spearman`: rank correlation with the true remaining steps."""
    heuristic = LearnedHeuristic(exam.runtime)
    distances = exam.batched(heuristic.distances, exam.data.states)
    true = exam.data.remaining.astype(np.float64)
    return {
        "error": float(np.abs(distances - true).mean()),
        "spearman": spearman(distances, true),
    }
