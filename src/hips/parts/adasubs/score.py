"""Scores of AdaSubS's generators."""

from __future__ import annotations

from hips.parts.adasubs.adapter import generators
from hips.parts.blocks.edit_score import share_of_hits
from hips.training.scoring import Exam


def score(exam: Exam) -> dict[str, float]:
    """`exact`: the share of subgoals that equal the demonstrated state, over all distances."""
    config = exam.card.parts["adasubs"].configuration
    distances = [int(config[name]) for name in ("far", "middle", "near")]
    found = generators(exam.runtime, exam.domain.spec.num_symbols)
    hits = [share_of_hits(exam, one, k) for one, k in zip(found, distances, strict=True)]
    return {"exact": sum(hits) / len(hits)}
