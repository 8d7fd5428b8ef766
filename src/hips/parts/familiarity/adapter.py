"""Familiarity for training and for scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Bools, Floats, Grids
from hips.models.runtime import GraphRuntime

GRAPH = "familiarity"
MISTAKEN = 0.002
"""Share of demonstrated states that may look unfamiliar."""


@dataclass(frozen=True, slots=True)
class LearnedFamiliarity:
    """Whether a demonstrator could have been in a state."""

    runtime: GraphRuntime

    def log_odds(self, states: Grids) -> Floats:
        """`[B]`; the smaller, the less familiar."""
        return self.runtime.rowwise(GRAPH, ((),), states=states)[0].astype(np.float64)

    def unfamiliar(self, states: Grids, demonstrated: Grids) -> Bools:
        """Which states `[B]` look less familiar than all but few of the `demonstrated` ones."""
        threshold = np.quantile(self.log_odds(demonstrated), MISTAKEN)
        found: Bools = self.log_odds(states) < threshold
        return found
