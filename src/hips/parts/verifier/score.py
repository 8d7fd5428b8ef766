"""Scores of the verifier."""

from __future__ import annotations

import numpy as np

from hips.parts.verifier.adapter import LearnedVerifier
from hips.parts.verifier.attempts import attempt, propose
from hips.training.scoring import Exam, chunks

STATES = 128


def score(exam: Exam) -> dict[str, float]:
    """`accuracy` on proposed and demonstrated subgoals, and the share that is `reached`."""
    states, subgoals = propose(exam.domain, exam.runtime, exam.data.states[:STATES])
    shown = exam.starts[:STATES]
    states = np.concatenate([states, exam.data.states[shown]])
    subgoals = np.concatenate([subgoals, exam.data.states[exam.ends[shown]]])
    tried = attempt(exam.domain, exam.runtime, states, subgoals, exam.horizon)
    verifier = LearnedVerifier(exam.runtime)
    found = np.concatenate(
        [verifier.probabilities(states[rows], subgoals[rows]) for rows in chunks(len(states))]
    )
    right = (found > 0.5) == tried.reached
    return {"accuracy": float(right.mean()), "reached": float(tried.reached.mean())}
