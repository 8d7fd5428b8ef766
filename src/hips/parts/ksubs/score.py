"""Scores of kSubS's generator."""

from __future__ import annotations

from hips.parts.blocks.edit_score import share_of_hits
from hips.parts.ksubs.adapter import generator
from hips.training.scoring import Exam


def score(exam: Exam) -> dict[str, float]:
    """`exact`: share of states for which some candidate is the demonstrated state k steps on."""
    distance = int(exam.card.parts["ksubs"].configuration["distance"])
    decoder = generator(exam.runtime, exam.domain.spec.num_symbols)
    return {"exact": share_of_hits(exam, decoder, distance)}
