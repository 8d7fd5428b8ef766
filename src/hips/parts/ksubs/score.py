"""Scores of kSubS's generator."""

from __future__ import annotations

import numpy as np

from hips.parts.ksubs.adapter import generator
from hips.training.scoring import Exam, chunks

STATES = 1024


def score(exam: Exam) -> dict[str, float]:
    """`exact`: share of states for which some candidate is the demonstrated state k steps on."""
    data = exam.data
    distance = int(exam.card.parts["ksubs"].configuration["distance"])
    last = np.repeat(data.offsets[1:] - 1, np.diff(data.offsets))
    starts = np.flatnonzero(data.actions >= 0)[:STATES]
    ends = np.minimum(starts + distance, last[starts])
    decoder = generator(exam.runtime, exam.domain.spec.num_symbols)
    hits = 0
    for rows in chunks(len(starts)):
        found = decoder.propose(data.states[starts[rows]])
        assert found.targets is not None
        wanted = data.states[ends[rows]][found.parents]
        same = (found.targets == wanted).all(axis=(1, 2))
        hits += len(np.unique(found.parents[same]))
    return {"exact": hits / len(starts)}
