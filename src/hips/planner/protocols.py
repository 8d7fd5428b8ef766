"""Protocols of pluggable components: generators, policies, heuristics and dynamics.

All work on batches of grids `[B, H, W]` that may belong to different searches, and must treat
rows independently. `calls` is the number of network rows per state; components without this
attribute cost none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hips.arrays import Actions, Floats, Grids, Ints
from hips.errors import ContractError

LOG_FLOOR = -1e3
"""Smallest log-probability of a child. Without it, a policy that rules out an applicable action
would rule out every plan through it."""
PENDING = 65_535
"""Action of an edge whose actions are not known yet; no domain has so many actions."""
NO_ACTION = -1
"""Padding after the end of an action list."""


class DynamicsMode(Enum):
    """Which dynamics simulate subgoals and actions (app:modelcompleteness)."""

    TRUE = "true"
    """Subgoals and actions in the true domain."""
    LEARNED = "learned"
    """Everything in the learned dynamics; plans are validated at the end. Not complete."""
    HYBRID = "hybrid"
    """Subgoals in the learned dynamics, actions in the true domain. Complete."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """Subgoals proposed for a batch of states.

    Attributes:
        parents: `[M]`, index of the state each belongs to.
        codes: `[M]`, labels ≥ 0, such as the VQ-VAE's codes.
        log_probabilities: `[M]`, log π_SG(code | state), not necessarily normalised.
        targets: `[M, H, W]`, states for a reach policy to reach, or None.
        actions: `[M, L]`, action lists to execute (padded with `NO_ACTION`), or None.
        calls: network rows per state, one number for all or `[B]`.
        action_log_probabilities: `[B, A]`, log π_BC from the same pass, or None; see
            `SubgoalGenerator`.
    """

    parents: Ints
    codes: Ints
    log_probabilities: Floats
    targets: Grids | None = None
    actions: Ints | None = None
    calls: int | Ints = 0
    action_log_probabilities: Floats | None = None

    def check(self, states: Grids, num_actions: int) -> None:
        """Rejects unusable proposals, naming the fault."""
        count = len(self.parents)
        if not (len(self.codes) == len(self.log_probabilities) == count):
            raise ContractError(
                "a generator's parents, codes and log_probabilities differ in length"
            )
        if (self.targets is None) == (self.actions is None):
            raise ContractError("a generator must propose either targets or actions, not both")
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


class SubgoalGenerator(Protocol):
    """Proposes subgoals, without guarantees.

    A generator whose network also computes π_BC may name that policy in an attribute
    `action_policy` and return its values in `Proposals.action_log_probabilities`; a search with
    that same policy then runs the network only once.
    """

    def propose(self, states: Grids) -> Proposals:
        """Subgoals of `states [B, H, W]`."""
        ...


@dataclass(frozen=True, slots=True)
class Foresight:
    """A reach policy's prediction of the next actions.

    Attributes:
        log_probabilities: `[B, C, A]`, of the next C ≥ 1 actions.
        reachable: `[B]`, the probability of reaching the subgoal; None if unknown.
    """

    log_probabilities: Floats
    reachable: npt.NDArray[np.floating[Any]] | None = None

    def check(self, count: int, num_actions: int | None = None) -> None:
        """Rejects predictions unusable for `count` walkers, naming the fault."""
        shape = self.log_probabilities.shape
        wrong = len(shape) != 3 or shape[0] != count or not shape[1]
        if wrong or num_actions not in (None, shape[2]):
            actions = "A" if num_actions is None else num_actions
            raise ContractError(
                f"a reach policy must return [{count}, C ≥ 1, {actions}], got {list(shape)}"
            )
        if np.isnan(self.log_probabilities).any():
            raise ContractError("a reach policy returned NaN")
        if self.reachable is not None and self.reachable.shape != (count,):
            raise ContractError(
                f"a reach policy's `reachable` must be [{count}], got {list(self.reachable.shape)}"
            )


class ReachPolicy(Protocol):
    """π(a | s, s_g): acts towards a subgoal."""

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """The next C ≥ 1 actions towards `subgoals` from `states`, both `[B, H, W]`."""
        ...


class Verifier(Protocol):
    """Foresees whether a reach policy arrives."""

    def probabilities(self, states: Grids, subgoals: Grids) -> Floats:
        """Probabilities `[B]` of reaching `subgoals` from `states`, both `[B, H, W]`."""
        ...


class ActionPolicy(Protocol):
    """π_BC(a | s)."""

    def log_probabilities(self, states: Grids) -> Floats:
        """Log-probabilities `[B, A]`; actions without effect are dropped later."""
        ...


class Heuristic(Protocol):
    """h(s), the estimated number of low-level steps to a goal.

    An optional attribute `max_decrease` is the most by which one action lowers h. A child reached
    by an action is then queued with its parent's h minus this, and its own h is computed only
    when it is about to be expanded; most such children never are. If h falls by more than this,
    the child is expanded later than it should be.
    """

    def distances(self, states: Grids) -> Floats:
        """Estimates `[B]`."""
        ...


class Dynamics(Protocol):
    """T(s, a), true or learned."""

    def step(self, states: Grids, actions: Actions) -> Grids:
        """Next states `[B, H, W]`."""
        ...


@dataclass(frozen=True, slots=True)
class CheckedDynamics:
    """Dynamics whose states are grids; a search of anything else would prove nothing.

    Attributes:
        inner: the dynamics.
    """

    inner: Dynamics

    def step(self, states: Grids, actions: Actions) -> Grids:
        """Next states `[B, H, W]`."""
        found = np.asarray(self.inner.step(states, actions))
        if found.shape != states.shape or found.dtype != np.uint8:
            raise ContractError(
                f"`step` must return uint8 {list(states.shape)}, got {found.dtype} "
                f"{list(found.shape)}"
            )
        return found


def calls_of(component: object) -> int:
    """Network rows per state of a policy or heuristic; 0 unless it has `calls`."""
    calls: int = getattr(component, "calls", 0)
    return calls


def max_decrease_of(heuristic: Heuristic | None) -> float | None:
    """The most by which one action lowers h; None if the heuristic does not declare it."""
    decrease: float | None = getattr(heuristic, "max_decrease", None)
    return decrease


def checked_log_probabilities(values: npt.ArrayLike, shape: tuple[int, ...], who: str) -> Floats:
    """Checks shape, NaN and +∞ of log-probabilities and clips them to `LOG_FLOOR`."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ContractError(f"{who} must return {shape}, got {array.shape}")
    if array.size and not array.max() < np.inf:  # also false for NaN
        raise ContractError(f"{who} returned NaN or +infinity as a log-probability")
    return np.maximum(array, LOG_FLOOR)


def _within(values: Ints, low: int, high: int) -> bool:
    return bool(values.size == 0 or (values.min() >= low and values.max() < high))
