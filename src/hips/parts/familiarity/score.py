"""Scores of familiarity."""

from __future__ import annotations

import numpy as np

from hips.parts.dynamics.adapter import LearnedDynamics
from hips.parts.familiarity.adapter import LearnedFamiliarity
from hips.parts.familiarity.config import FamiliarityConfig
from hips.seeding import stream
from hips.training.scoring import Exam
from hips.training.stitching import Surveyor
from hips.training.strays import stray_ends

STATES = 1_024
LONGEST = FamiliarityConfig().longest


def score(exam: Exam) -> dict[str, float]:
    """Unfamiliar shares of the ends of random walks and of demonstrated states, by one half each.

    The threshold comes from one half of the held-out states, the shares from the other.
    """
    states = exam.data.states
    rng = stream(0, "familiarity", "score")
    chosen = rng.permutation(len(states))[: 2 * STATES]
    known, fresh = np.array_split(states[chosen], 2)
    surveyor = Surveyor.of(exam.domain, LearnedDynamics(exam.runtime).step)
    familiarity = LearnedFamiliarity(exam.runtime)
    ends = stray_ends(surveyor, fresh, rng, STATES, LONGEST)
    return {
        "unfamiliar": float(familiarity.unfamiliar(ends, known).mean()),
        "mistaken": float(familiarity.unfamiliar(fresh, known).mean()),
    }
