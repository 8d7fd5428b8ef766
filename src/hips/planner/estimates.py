"""h of the nodes of a lockstep: at once where it orders a queue, later where a guess will do.

Actions beside subgoals have the share ε of the probability, so that hardly one of them is ever
expanded; to know h of all of them would be a third to a half of what the heuristic has to do.
Where the heuristic says how much nearer one action may bring a state, such a child waits in the
queue with the h of its parent less that. Evaluations grow with h, so a child that is taken out of
the queue too early is found out when its own h is computed, and goes back. Where evaluations do not
look at the probability, ε does not keep such a child waiting, unless ε → 0.
"""

from __future__ import annotations

import numpy as np

from hips.domains.base import Bools, Grids
from hips.errors import ContractError
from hips.planner.evaluations import Evaluation
from hips.planner.ledger import Ledger
from hips.planner.nodes import ROOT, NodeTable
from hips.planner.protocols import Children, Heuristic, Ints, gain_of

MAX_DISTANCE = 1e9
"""Larger heuristic values count as this one: a heuristic may despair, the search may not."""


class Estimates:
    """Fills `h` of nodes in; with no heuristic all distances stay 0."""

    def __init__(
        self,
        table: NodeTable,
        ledger: Ledger,
        evaluation: Evaluation,
        heuristic: Heuristic | None,
    ) -> None:
        self.table, self.ledger, self.evaluation = table, ledger, evaluation
        self.heuristic = heuristic if evaluation.uses_heuristic else None
        self.gain = gain_of(heuristic)

    def estimate(self, ids: Ints, parents: Ints, wanted: Bools, children: Children) -> None:
        """Gives the `wanted` of the nodes `ids`, children of nodes `parents`, an h; all `[M]`."""
        if self.heuristic is None or not wanted.any():
            return
        if self.gain is not None:
            late = wanted & self._can_wait(parents, children)
            self._guess(ids[late], parents[late], self.gain)
            wanted = wanted & ~late
        if wanted.any():
            self._compute(self.heuristic, ids[wanted], children.states[wanted])

    def is_guessed(self, ids: Ints) -> Bools:
        """Of which nodes h was never computed, `[B]`."""
        guessed: Bools = self.table.nodes["guessed"][ids] > 0
        return guessed

    def settle(self, ids: Ints) -> None:
        """Computes h of nodes that had only a guess."""
        if self.heuristic is not None:
            self._compute(self.heuristic, ids, self.table.states(ids))
            self.table.nodes["guessed"][ids] = False

    def _can_wait(self, parents: Ints, children: Children) -> Bools:
        """Which children are unlikely actions beside subgoals, of parents whose h is known."""
        subgoal = children.kinds >= 0
        num_parents = len(children.network_calls)
        jumps = np.zeros(num_parents, dtype=np.bool_)
        jumps[children.parents[subgoal]] = True
        unlikely = ~subgoal & jumps[children.parents]
        if not self.evaluation.uses_policy:
            unlikely &= children.tiers > 0
        return np.asarray(unlikely & (self.table.nodes["kind"][parents] != ROOT))

    def _guess(self, ids: Ints, parents: Ints, gain: float) -> None:
        nodes = self.table.nodes
        nodes["h"][ids] = np.maximum(nodes["h"][parents] - gain, 0.0)
        nodes["guessed"][ids] = True

    def _compute(self, heuristic: Heuristic, ids: Ints, states: Grids) -> None:
        """Stores h of nodes; values that are no distance are clamped and counted."""
        distances = np.asarray(heuristic.distances(states), dtype=np.float64)
        if distances.shape != ids.shape:
            raise ContractError(
                f"a heuristic must return [{len(ids)}], got {list(distances.shape)}"
            )
        sane = np.nan_to_num(distances, nan=0.0, posinf=MAX_DISTANCE).clip(0.0, MAX_DISTANCE)
        self.table.nodes["h"][ids] = sane
        slots = self.table.nodes["slot"][ids]
        np.add.at(self.ledger.count("clamped"), slots, sane != distances)
        np.add.at(self.ledger.count("network_calls"), slots, heuristic.calls)
