"""Keys of nodes: the evaluation of a node by itself, or of its whole path by a rerooter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hips.arrays import Floats
from hips.errors import ContractError
from hips.planner.evaluations import Evaluation
from hips.planner.nodes import NodeTable
from hips.planner.rerooting import Rerooter


class Keys:
    """The order of expansion of all searches of a node table.

    Attributes:
        evaluation: the evaluation function.
        rerooter: weighs expanded nodes, if the evaluation needs it.
    """

    def __init__(self, table: NodeTable, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        rerooting = evaluation.rerooting
        self.rerooter = None if rerooting is None else Rerooter(table, rerooting)

    def of(
        self,
        parents: npt.NDArray[Any],
        depths: npt.NDArray[Any],
        steps: npt.NDArray[Any],
        log_pi: Floats,
        h: npt.NDArray[Any],
    ) -> Floats:
        """Keys `[M]` of children of expanded nodes `parents`, with their g, l, log π and h."""
        if self.rerooter is not None:
            return self.rerooter.keys(parents, log_pi)
        keys = np.asarray(
            self.evaluation.key(
                depths.astype(np.int64), steps.astype(np.int64), log_pi, h.astype(np.float64)
            ),
            dtype=np.float64,
        )
        if keys.shape != h.shape or np.isnan(keys).any():
            raise ContractError(f"an evaluation must return {len(h)} keys without NaN")
        return keys

    def of_nodes(self, found: npt.NDArray[Any]) -> Floats:
        """Keys `[M]` of records of nodes, from what they say now."""
        return self.of(found["parent"], found["depth"], found["steps"], found["log_pi"], found["h"])
