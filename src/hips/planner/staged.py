"""Expansion in stages: each node is expanded by one expander after the other.

A node waits for its first stage; after each stage it goes back to the queue for the next one. The
queue prefers earlier stages, so a later stage runs only when no node waits for an earlier one.
With one generator per distance, the farthest first, this is the order of adaptive subgoal search;
with low-level actions as the last stage it is complete, and actions are used only when the high
level would fail (ε → 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hips.arrays import Grids, Ints
from hips.errors import ConfigError
from hips.planner.children import COSTS, Children, Costs, Expander, Rejected
from hips.planner.expander import Hybrid
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
        return _joined(found, len(states))


def _mixes_in_the_limit(expander: Expander) -> bool:
    mixes = isinstance(expander, Hybrid) and expander.generator is not None
    return mixes and expander.complete and getattr(expander, "epsilon", 1.0) == 0.0


def _joined(found: Sequence[tuple[Ints, Children]], count: int) -> Children:
    """Children of several groups of rows as those of `count` rows: subgoals first, then actions."""
    if len(found) == 1 and len(found[0][0]) == count:
        return found[0][1]
    pieces = [_split(children) for _, children in found]
    order: list[tuple[int, Ints]] = [
        (group, rows)
        for half in (0, 1)
        for group, piece in enumerate(pieces)
        for rows in [piece[half]]
    ]
    owners = [own for own, _ in found]
    all_children = [children for _, children in found]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(all_children[group], name)[rows] for group, rows in order])

    width = max(children.actions.shape[1] for children in all_children)
    actions = [
        np.pad(children.actions, ((0, 0), (0, width - children.actions.shape[1])))
        for children in all_children
    ]
    counts = np.zeros((count, len(COSTS)), dtype=np.int64)
    phases: dict[str, float] = {}
    for own, children in found:
        counts[own] = children.costs.counts
        for phase, seconds in children.costs.phases.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
    return Children(
        np.concatenate([owners[group][all_children[group].parents[rows]] for group, rows in order]),
        joined("states"),
        joined("log_probabilities"),
        joined("lengths"),
        joined("kinds"),
        joined("tiers"),
        joined("exact"),
        np.concatenate(actions),
        Costs(counts, phases),
        _rejected(found),
    )


def _split(children: Children) -> tuple[Ints, Ints]:
    """Rows of subgoals and of actions."""
    return np.flatnonzero(children.kinds >= 0), np.flatnonzero(children.kinds < 0)


def _rejected(found: Sequence[tuple[Ints, Children]]) -> Rejected | None:
    moved = [
        replace(children.rejected, parents=own[children.rejected.parents])
        for own, children in found
        if children.rejected is not None
    ]
    if not moved:
        return None
    names = ("parents", "codes", "log_probabilities", "fates", "states")
    return Rejected(*(np.concatenate([getattr(one, name) for one in moved]) for name in names))
