"""Expansion in stages: each node is expanded by one expander after the other.

A node waits for its first stage; after each stage it goes back to the queue for the next one. The
queue prefers earlier stages, so a later stage runs only when no node waits for an earlier one.
With one generator per distance, the farthest first, this is the order of adaptive subgoal search;
with low-level actions as the last stage it is complete, and actions are used only when the high
level would fail (ε → 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Grids, Ints
from hips.errors import ConfigError
from hips.planner.children import Children, Expander
from hips.planner.expander import Hybrid
from hips.planner.joining import join
from hips.planner.protocols import DynamicsMode, Heuristic
from hips.planner.reaching import LateReach
from hips.planner.rollouts import Rollouts


@dataclass(frozen=True, slots=True)
class Staged:
    """Expanders in the order of their use.

    Attributes:
        stages: one expander each; none may put children into tiers of its own.
    """

    stages: tuple[Expander, ...]

    def __post_init__(self) -> None:
        if not self.stages:
            raise ConfigError("A staged expander needs at least one stage.")
        if any(_mixes_in_the_limit(one) for one in self.stages):
            raise ConfigError("A stage cannot mix with ε→0; make the actions the last stage.")
        if any(isinstance(getattr(one, "reacher", None), LateReach) for one in self.stages):
            raise ConfigError("The rollouts of a staged expander cannot be left for later.")

    @property
    def num_stages(self) -> int:
        """How often a node is expanded."""
        return len(self.stages)

    @property
    def complete(self) -> bool:
        """Whether some stage adds every applicable action."""
        return any(one.complete for one in self.stages)

    @property
    def mode(self) -> DynamicsMode:
        """Which dynamics simulate subgoals and actions."""
        return self.stages[0].mode

    @property
    def heuristic(self) -> Heuristic | None:
        """The heuristic of all stages."""
        return self.stages[0].heuristic

    def connect(self, starts: Grids, targets: Grids) -> Rollouts:
        """Actions of pending edges; see `Hybrid.connect`."""
        return self.stages[0].connect(starts, targets)

    def expand(self, states: Grids, explain: bool = False, stages: Ints | None = None) -> Children:
        """Children of `states [B, H, W]`, each by the expander of its stage `[B]`."""
        chosen = np.zeros(len(states), dtype=np.int64) if stages is None else stages
        rows = [np.flatnonzero(chosen == stage) for stage in range(self.num_stages)]
        found = [
            (own, expander.expand(states[own], explain))
            for own, expander in zip(rows, self.stages, strict=True)
            if len(own)
        ]
        return join(found, len(states))


def _mixes_in_the_limit(expander: Expander) -> bool:
    mixes = isinstance(expander, Hybrid) and expander.generator is not None
    return mixes and expander.complete and getattr(expander, "epsilon", 1.0) == 0.0
