"""Scores of familiarity."""

from __future__ import annotations

import numpy as np

from hips.parts.dynamics.adapter import LearnedDynamics
from hips.parts.familiarity.adapter import LearnedFamiliarity
from hips.seeding import stream
from hips.training.scoring import Exam
from hips.training.stitching import Surveyor
from hips.training.strays import stray_ends

STATES = 1_024
LONGEST = 12


def score(exam: Exam) -> dict[str, float]:
    """Unfamiliar shares of the ends of random walks and of demonstrated states, by one half each.

    The threshold comes from one half of the held-out states, the shares from the other.
    """
    domain, states = exam.domain, exam.data.states
    rng = stream(0, "familiarity", "score")
    chosen = rng.permutation(len(states))[: 2 * STATES]
    known, fresh = np.array_split(states[chosen], 2)
    step = LearnedDynamics(exam.runtime).step
    surveyor = Surveyor(step, domain.is_goal, domain.is_legal, domain.spec.num_actions)
    familiarity = LearnedFamiliarity(exam.runtime)
    ends = stray_ends(surveyor, fresh, rng, STATES, LONGEST)
    return {
        "unfamiliar": float(familiarity.unfamiliar(ends, known).mean()),
        "mistaken": float(familiarity.unfamiliar(fresh, known).mean()),
    }
