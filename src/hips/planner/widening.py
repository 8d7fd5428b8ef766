"""A search that proposes few subgoals at first, and more once it proves hard.

Most levels need a few expansions, and the likeliest subgoals of each suffice. A level that has
cost many expansions may need an unlikely one, so its later nodes get all subgoals. The actions are
always there, so both kinds of expansions are complete.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Grids, Ints
from hips.planner.children import Children, Expander
from hips.planner.joining import join
from hips.planner.protocols import DynamicsMode, Heuristic
from hips.planner.rollouts import Rollouts


@dataclass(frozen=True, slots=True)
class Widening:
    """An expander for the first nodes of a search and one for the others.

    Attributes:
        early: expands the first nodes.
        later: expands the others; like `early` in all but the subgoals that it proposes.
        expansions: how many nodes of each search are the first.
    """

    early: Expander
    later: Expander
    expansions: int

    by_effort = True
    """`expand` wants to know how far each search is."""

    @property
    def complete(self) -> bool:
        """Whether both add every applicable action."""
        return self.early.complete and self.later.complete

    @property
    def mode(self) -> DynamicsMode:
        """Which dynamics simulate subgoals and actions."""
        return self.later.mode

    @property
    def heuristic(self) -> Heuristic | None:
        """That of both."""
        return self.later.heuristic

    def connect(self, starts: Grids, targets: Grids) -> Rollouts:
        """Actions of pending edges; see `Hybrid.connect`."""
        return self.later.connect(starts, targets)

    def expand(
        self,
        states: Grids,
        explain: bool = False,
        stages: Ints | None = None,
        effort: Ints | None = None,
    ) -> Children:
        """Children of `states [B, H, W]`, whose searches have expanded `effort [B]` nodes."""
        spent = np.zeros(len(states), dtype=np.int64) if effort is None else effort
        first = spent < self.expansions
        groups = ((np.flatnonzero(first), self.early), (np.flatnonzero(~first), self.later))
        found = [(own, one.expand(states[own], explain)) for own, one in groups if len(own)]
        return join(found, len(states))
