"""What can be plugged into the search: proposals, policies, heuristics and dynamics.

Everything works on batches of grids `[B, H, W]` that may belong to different searches, and must
treat each row by itself. `calls` is the number of network evaluations that one row costs (0 if
no network runs); the search adds them up per problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hips.domains.base import Actions, Bools, Grids
from hips.errors import ContractError

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

LOG_FLOOR = -1e3
"""Smallest log-probability of a possible child. A policy that rules out an applicable action would
otherwise rule out every plan through it."""
NO_ACTION = -1
"""Filler behind the end of an action list."""


class DynamicsMode(Enum):
    """Who simulates what (app:modelcompleteness)."""

    TRUE = "true"
    """Subgoals and actions in the true domain."""
    LEARNED = "learned"
    """Everything in the model; plans are validated at the end. Not complete."""
    HYBRID = "hybrid"
    """Subgoals in the model, actions in the true domain. Complete."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """Subgoals proposed for a batch of states.

    Attributes:
        parents: `[M]`, index of the state each belongs to.
        codes: `[M]`, what to call it (the VQ-VAE's code), ≥ 0.
        log_probabilities: `[M]`, log π_SG(code | state), not necessarily normalised.
        targets: `[M, H, W]`, states to be reached by a subgoal-conditioned policy, or None.
        actions: `[M, L]`, action lists to be executed (filled up with `NO_ACTION`), or None.
        calls: network evaluations that each state cost, one number for all or `[B]`.
    """

    parents: Ints
    codes: Ints
    log_probabilities: Floats
    targets: Grids | None = None
    actions: Ints | None = None
    calls: int | Ints = 0

    def check(self, states: Grids, num_actions: int) -> None:
        """Refuses what a search could not use, naming the fault."""
        count = len(self.parents)
        if not (len(self.codes) == len(self.log_probabilities) == count):
            raise ContractError(
                "a generator's parents, codes and log_probabilities differ in length"
            )
        if (self.targets is None) == (self.actions is None):
            raise ContractError("a generator must give either targets or actions")
        if self.targets is not None and (
            self.targets.shape != (count, *states.shape[1:]) or self.targets.dtype != np.uint8
        ):
            raise ContractError(
                f"a generator's targets must be uint8 {(count, *states.shape[1:])}, "
                f"got {self.targets.dtype} {self.targets.shape}"
            )
        if self.actions is not None and (self.actions.ndim != 2 or len(self.actions) != count):
            raise ContractError(f"a generator's actions must be [{count}, L], padded with -1")
        if not count:
            return
        if self.actions is not None and not _within(self.actions, NO_ACTION, num_actions):
            raise ContractError(f"a generator's actions must be in 0 … {num_actions - 1}")
        if not _within(self.parents, 0, len(states)):
            raise ContractError(f"a generator's parents must be in 0 … {len(states) - 1}")
        if not _within(self.codes, 0, np.iinfo(np.int32).max):
            raise ContractError("a generator's codes must be 0 or more")


@dataclass(frozen=True, slots=True)
class Children:
    """All children of a batch of expanded nodes: subgoals first, then actions; a parent's in order.

    Attributes:
        parents: `[M]`, row of the parent.
        states: `[M, H, W]`.
        log_probabilities: `[M]`, log π(child | parent) of eq:pi.
        lengths: `[M]`, low-level steps of the edge.
        kinds: `[M]`, the subgoal's code, or `~action`.
        tiers: `[M]`, 1 if a low-level action reached the child and ε → 0, otherwise 0.
        exact: `[M]`, whether the true domain made the child.
        actions: `[S, L]`, action lists of the S subgoals.
        environment_steps: `[B]`, steps in the true domain per parent.
        model_calls: `[B]`, steps in the model per parent.
        network_calls: `[B]`, network evaluations per parent.
        phases: seconds that making them took, by phase.
    """

    parents: Ints
    states: Grids
    log_probabilities: Floats
    lengths: Ints
    kinds: npt.NDArray[np.int32]
    tiers: npt.NDArray[np.uint8]
    exact: Bools
    actions: npt.NDArray[np.uint8]
    environment_steps: Ints
    model_calls: Ints
    network_calls: Ints
    phases: Mapping[str, float] = field(default_factory=dict)


class SubgoalGenerator(Protocol):
    """Proposes jumps; promises nothing."""

    def propose(self, states: Grids) -> Proposals:
        """Subgoals of `states [B, H, W]`."""
        ...


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a policy would do to reach subgoals.

    Attributes:
        log_probabilities: `[B, C, A]`, of the next C ≥ 1 actions.
        reachable: `[B]`, the probability that it gets there; None if it cannot tell.
    """

    log_probabilities: Floats
    reachable: npt.NDArray[np.floating[Any]] | None = None

    def check(self, count: int) -> None:
        """Refuses what a rollout of `count` walkers could not use, naming the fault."""
        shape = self.log_probabilities.shape
        if len(shape) != 3 or shape[0] != count or not shape[1]:
            raise ContractError(
                f"a subgoal-conditioned policy must return [{count}, C ≥ 1, A], got {list(shape)}"
            )
        if np.isnan(self.log_probabilities).any():
            raise ContractError("a subgoal-conditioned policy returned NaN")
        if self.reachable is not None and self.reachable.shape != (count,):
            raise ContractError(
                f"a policy's probabilities of reaching subgoals must be [{count}], "
                f"got {list(self.reachable.shape)}"
            )


class ReachPolicy(Protocol):
    """π(a | s, s_g): acts towards a subgoal."""

    @property
    def calls(self) -> int:
        """Network evaluations per row."""
        ...

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """The next C ≥ 1 actions towards `subgoals` from `states`, both `[B, H, W]`."""
        ...


class ActionPolicy(Protocol):
    """π_BC(a | s)."""

    @property
    def calls(self) -> int:
        """Network evaluations per row of the last batch."""
        ...

    def log_probabilities(self, states: Grids) -> Floats:
        """Log-probabilities `[B, A]`; actions that change nothing are left out later."""
        ...


class Heuristic(Protocol):
    """h(s), the estimated number of low-level steps to a goal."""

    @property
    def calls(self) -> int:
        """Network evaluations per row."""
        ...

    @property
    def gain(self) -> float | None:
        """How much nearer one action brings a state, at most; None if there is no saying.

        h of an action's child is then taken for h of its parent less this, until the child is
        about to be expanded; most such children never are. The more often h falls by more than
        this, the more of them come later than they should.
        """
        ...

    def distances(self, states: Grids) -> Floats:
        """Estimates `[B]`."""
        ...


def gain_of(heuristic: Heuristic | None) -> float | None:
    """Its `gain`; one that was written before there was such a thing has none."""
    gain: float | None = getattr(heuristic, "gain", None)
    return gain


class Dynamics(Protocol):
    """T(s, a), true or learned."""

    def step(self, states: Grids, actions: Actions) -> Grids:
        """Next states `[B, H, W]`."""
        ...


class Expander(Protocol):
    """Makes children of nodes; the only part of a search where networks run."""

    @property
    def complete(self) -> bool:
        """Whether every applicable action is a child, made by the true domain."""
        ...

    @property
    def mode(self) -> DynamicsMode:
        """Who simulates what."""
        ...

    @property
    def heuristic(self) -> Heuristic | None:
        """h, or None for h = 0."""
        ...

    def expand(self, states: Grids) -> Children:
        """Children of `states [B, H, W]`."""
        ...


def checked_log_probabilities(values: npt.ArrayLike, shape: tuple[int, ...], who: str) -> Floats:
    """Log-probabilities of the right shape, none NaN or +∞, none below `LOG_FLOOR`."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ContractError(f"{who} must return {shape}, got {array.shape}")
    if array.size and not array.max() < np.inf:  # also false for NaN
        raise ContractError(f"{who} returned NaN or +infinity as a log-probability")
    return np.maximum(array, LOG_FLOOR)


def _within(values: Ints, low: int, high: int) -> bool:
    return bool(values.size == 0 or (values.min() >= low and values.max() < high))
