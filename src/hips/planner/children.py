"""Children of expanded nodes, fates of proposed subgoals, and the expander protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hips.arrays import ActionLog, Bools, Floats, Grids, Ints, Ints32
from hips.planner.protocols import DynamicsMode, Heuristic
from hips.planner.rollouts import Rollouts


class Fate(IntEnum):
    """The fate of a proposed subgoal."""

    KEPT = 0
    """It became a child."""
    ILLEGAL = 1
    """It is not a legal state of the problem."""
    REPEATED = 2
    """It is the state itself, or a duplicate of another proposal."""
    UNREACHED = 3
    """The reach policy did not reach it."""
    PENDING = 4
    """It became a child whose rollout is left for later."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """Proposed subgoals that did not become children; recorded only for observers.

    Attributes:
        parents: `[R]`, row of the parent.
        codes: `[R]`, the generator's codes.
        log_probabilities: `[R]`, log π_SG among all proposals of the parent.
        fates: `[R]`, values of `Fate`.
        states: `[R, H, W]`, the targets; for action lists, their last states.
    """

    parents: Ints
    codes: Ints
    log_probabilities: Floats
    fates: npt.NDArray[np.uint8]
    states: Grids


COSTS = (
    "environment_steps",
    "dynamics_rows",
    "dynamics_calls",
    "network_rows",
    "reach_rows",
    *(f"proposals_{fate.name.lower()}" for fate in Fate),
)
"""What expanding a node costs: steps in the true domain, rows of learned dynamics and batched calls
of them (as the published code counts), rows of any network, of them those of reach policies and
verifiers, and proposed subgoals by fate."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of expanding each parent, and the time by phase.

    Attributes:
        counts: `[B, len(COSTS)]`, one column for each of `COSTS`.
        phases: seconds by phase.
    """

    counts: Ints
    phases: Mapping[str, float] = field(default_factory=dict)

    def column(self, name: str) -> Ints:
        """One of `COSTS` for each parent, `[B]`; a view that can be updated."""
        return self.counts[:, COSTS.index(name)]

    @property
    def proposals(self) -> Ints:
        """Proposed subgoals by `Fate`, `[B, F]`; a view that can be updated."""
        return self.counts[:, -len(Fate) :]


@dataclass(frozen=True, slots=True)
class Children:
    """All children of a batch of expanded nodes: subgoals first, then actions, each by parent.

    Attributes:
        parents: `[M]`, row of the parent.
        states: `[M, H, W]`.
        log_probabilities: `[M]`, log π(child | parent) of eq:pi.
        lengths: `[M]`, low-level steps of the edge.
        kinds: `[M]`, the subgoal's code, or `~action`.
        tiers: `[M]`, 1 if a low-level action reached the child and ε → 0, otherwise 0.
        exact: `[M]`, whether the true domain made the child.
        actions: `[S, L]`, action lists of the S subgoals.
        costs: costs of the expansion.
        rejected: proposals that did not become children, if requested by `explain`.
        pending: `[M]`, whether the rollout to the child is left for later: its length is an
            estimate, and `connect` finds its actions. None if it is so for none.
    """

    parents: Ints
    states: Grids
    log_probabilities: Floats
    lengths: Ints
    kinds: Ints32
    tiers: npt.NDArray[np.uint8]
    exact: Bools
    actions: ActionLog
    costs: Costs
    rejected: Rejected | None = None
    pending: Bools | None = None


class Expander(Protocol):
    """Makes children of nodes; the only part of a search that runs networks."""

    @property
    def complete(self) -> bool:
        """Whether every applicable action is a child, made by the true domain."""
        ...

    @property
    def mode(self) -> DynamicsMode:
        """Which dynamics simulate subgoals and actions."""
        ...

    @property
    def heuristic(self) -> Heuristic | None:
        """h, or None for h = 0."""
        ...

    def expand(self, states: Grids, explain: bool = False, stages: Ints | None = None) -> Children:
        """Children of `states [B, H, W]`; with `explain`, also the rejected proposals.

        An expander with an attribute `num_stages` expands every node that many times; `stages`
        `[B]` says for the how manieth time. One with an attribute `by_effort` also takes
        `effort` `[B]`, the number of nodes that the search of each state has expanded before.
        """
        ...

    def connect(self, starts: Grids, targets: Grids) -> Rollouts:
        """The actions of pending edges from `starts` to `targets`, both `[M, H, W]`.

        `policy_calls` counts the rows of all networks.
        """
        ...


def stages_of(expander: Expander) -> int:
    """How often each node is expanded; 1 unless the expander has `num_stages`."""
    stages: int = getattr(expander, "num_stages", 1)
    return stages


def wants_effort(expander: Expander) -> bool:
    """Whether children depend on how many nodes their search has expanded; see `expand`."""
    return bool(getattr(expander, "by_effort", False))
