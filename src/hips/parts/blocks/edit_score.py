"""How often a generator of edits proposes what was demonstrated."""

from __future__ import annotations

import numpy as np

from hips.parts.blocks.decoding import EditDecoder
from hips.training.scoring import Exam, chunks

STATES = 512


def share_of_hits(exam: Exam, decoder: EditDecoder, distance: int) -> float:
    """Share of states for which some candidate is the demonstrated state `distance` steps on."""
    data = exam.data
    last = np.repeat(data.offsets[1:] - 1, np.diff(data.offsets))
    starts = np.flatnonzero(data.actions >= 0)[:STATES]
    ends = np.minimum(starts + distance, last[starts])
    hits = 0
    for rows in chunks(len(starts)):
        found = decoder.propose(data.states[starts[rows]])
        assert found.targets is not None
        wanted = data.states[ends[rows]][found.parents]
        same = (found.targets == wanted).all(axis=(1, 2))
        hits += len(np.unique(found.parents[same]))
    return hits / len(starts)
