"""KSubS's generator for the planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grids
from hips.models.runtime import GraphRuntime
from hips.parts.blocks.decoding import EditDecoder

GRAPH = "ksubs"


@dataclass(frozen=True, slots=True)
class LearnedEdits:
    """Log-probabilities of edits."""

    runtime: GraphRuntime

    def __call__(self, states: Grids, partials: Grids) -> Floats:
        """`[M, H · W · S + 1]`."""
        found = self.runtime.rowwise(GRAPH, ((None,),), states=states, partials=partials)
        return found[0].astype(np.float64)


def generator(
    runtime: GraphRuntime, num_symbols: int, candidates: int = 4, coverage: float = 0.9
) -> EditDecoder:
    """The subgoal generator: C candidates, decoded with a coverage."""
    return EditDecoder(LearnedEdits(runtime), num_symbols, candidates, coverage)
