"""AdaSubS's generators for the planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grids
from hips.models.runtime import GraphRuntime
from hips.parts.blocks.decoding import EditDecoder

GRAPH = "adasubs"
STAGES = 3
"""Number of distances, the farthest first."""
BEAM, MAX_EDITS = 16, 12


@dataclass(frozen=True, slots=True)
class StagedEdits:
    """Log-probabilities of edits at one of the distances."""

    runtime: GraphRuntime
    stage: int

    def __call__(self, states: Grids, partials: Grids) -> Floats:
        """`[M, H · W · S + 1]`."""
        distances = np.full(len(states), self.stage, dtype=np.int64)
        found = self.runtime.rowwise(
            GRAPH, ((None,),), states=states, partials=partials, distances=distances
        )
        return found[0].astype(np.float64)


def generators(
    runtime: GraphRuntime, num_symbols: int, candidates: int = 1
) -> tuple[EditDecoder, ...]:
    """One generator per distance: a beam search for the likeliest subgoals."""
    return tuple(
        EditDecoder(StagedEdits(runtime, stage), num_symbols, candidates, 1.0, BEAM, MAX_EDITS)
        for stage in range(STAGES)
    )
