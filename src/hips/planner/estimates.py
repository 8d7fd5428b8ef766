"""h of the nodes of a lockstep batch: computed immediately, or lazily where a guess will do.

Low-level actions next to subgoals share the probability ε, so few of them are ever expanded;
computing h for all of them would be a third to a half of the heuristic's work. If the heuristic
declares by how much one action lowers h at most, such a child waits in the queue with its parent's
h minus that amount. Evaluations are monotone in h, so when a child reaches the front too early,
computing its own h shows this and the child goes back. If the evaluation ignores probabilities,
ε does not hold such children back, so h is guessed only for ε → 0.
"""

from __future__ import annotations

import logging

import numpy as np

from hips.arrays import Bools, Grids, Ints
from hips.errors import ContractError
from hips.planner.children import Children
from hips.planner.evaluations import Evaluation
from hips.planner.ledger import Ledger
from hips.planner.nodes import ROOT, NodeTable
from hips.planner.packing import first_occurrences, pack
from hips.planner.protocols import Heuristic, calls_of, max_decrease_of

logger = logging.getLogger(__name__)

MAX_DISTANCE = 1e9
"""Upper limit of h: the search never discards a state because the heuristic gives it up."""


class Estimates:
    """Fills in `h` of nodes; without a heuristic, all distances stay 0."""

    def __init__(
        self,
        table: NodeTable,
        ledger: Ledger,
        evaluation: Evaluation,
        heuristic: Heuristic | None,
    ) -> None:
        self.table, self.ledger, self.evaluation = table, ledger, evaluation
        self.heuristic = heuristic if evaluation.uses_heuristic else None
        self.max_decrease = max_decrease_of(heuristic)
        self.warned = False

    def estimate(self, ids: Ints, parents: Ints, wanted: Bools, children: Children) -> None:
        """Sets h of the `wanted` nodes among `ids`, children of nodes `parents`; all `[M]`."""
        if self.heuristic is None or self.evaluation.rerooting is not None or not wanted.any():
            return  # a rerooter needs h of expanded nodes only; see `settle`
        if self.max_decrease is not None:
            late = wanted & self._can_wait(parents, children)
            self._guess(ids[late], parents[late], self.max_decrease)
            wanted = wanted & ~late
        if wanted.any():
            self._compute(self.heuristic, ids[wanted], children.states[wanted])

    def is_guessed(self, ids: Ints) -> Bools:
        """Which nodes have only a guessed h, `[B]`."""
        guessed: Bools = self.table.nodes["guessed"][ids] > 0
        return guessed

    def settle(self, ids: Ints) -> None:
        """Computes h of nodes with a guessed h."""
        if self.heuristic is not None:
            self._compute(self.heuristic, ids, self.table.states(ids))
            self.table.nodes["guessed"][ids] = False

    def _can_wait(self, parents: Ints, children: Children) -> Bools:
        """Which children are unlikely actions next to subgoals, of parents whose h is known."""
        subgoal = children.kinds >= 0
        num_parents = len(children.costs.counts)
        jumps = np.zeros(num_parents, dtype=np.bool_)
        jumps[children.parents[subgoal]] = True
        unlikely = ~subgoal & jumps[children.parents]
        if not self.evaluation.uses_policy:
            unlikely &= children.tiers > 0
        return np.asarray(unlikely & (self.table.nodes["kind"][parents] != ROOT))

    def _guess(self, ids: Ints, parents: Ints, decrease: float) -> None:
        nodes = self.table.nodes
        nodes["h"][ids] = np.maximum(nodes["h"][parents] - decrease, 0.0)
        nodes["guessed"][ids] = True

    def _compute(self, heuristic: Heuristic, ids: Ints, states: Grids) -> None:
        """Stores h of nodes; clamps and counts values that are not finite and non-negative.

        Nodes of one search with equal states, of different origins, are asked about once.
        """
        asked, places = self._distinct(ids, states)
        distances = np.asarray(heuristic.distances(states[asked]), dtype=np.float64)
        if distances.shape != asked.shape:
            raise ContractError(
                f"a heuristic must return [{len(asked)}], got {list(distances.shape)}"
            )
        if np.isnan(distances).any() and not self.warned:
            self.warned = True
            logger.warning("The heuristic returned NaN; the search counts it as 0.")
        sane = np.nan_to_num(distances, nan=0.0, posinf=MAX_DISTANCE).clip(0.0, MAX_DISTANCE)
        self.table.nodes["h"][ids] = sane[places]
        slots = self.table.nodes["slot"][ids[asked]]
        np.add.at(self.ledger.count("clamped"), slots, sane != distances)
        np.add.at(self.ledger.count("network_rows"), slots, calls_of(heuristic))

    def _distinct(self, ids: Ints, states: Grids) -> tuple[Ints, Ints]:
        """Rows of the first of equal states of each search, and each node's place among them."""
        everything = np.arange(len(ids))
        origins = self.table.nodes["origin"][ids]
        if (origins == origins[:1]).all():
            return everything, everything  # nodes of one origin have different states
        slots = self.table.nodes["slot"][ids].astype(np.int64)
        first = first_occurrences(slots, pack(states))
        asked = np.flatnonzero(first == everything)
        return asked, np.searchsorted(asked, first)
