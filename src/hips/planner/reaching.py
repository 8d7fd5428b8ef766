"""Ways to a proposed state other than a rollout at once: all paths, a verifier's word, or later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hips.arrays import ActionLog, Bytes, Grids, Ints
from hips.errors import ConfigError, ContractError
from hips.planner.packing import first_occurrences, pack
from hips.planner.protocols import PENDING, ReachPolicy, Verifier, calls_of
from hips.planner.rollouts import RolloutLimits, Rollouts, Simulator, follow


@dataclass(frozen=True, slots=True)
class ExhaustiveReach:
    """Breadth-first search over all actions: finds every target within `depth` steps.

    Attributes:
        num_actions: of the domain.
        depth: maximum number of low-level steps.
    """

    num_actions: int
    depth: int

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ConfigError(
                f"An exhaustive search of {self.depth} steps is invalid; give 1 or more."
            )

    def reach(self, simulator: Simulator, starts: Grids, targets: Grids, owners: Ints) -> Rollouts:
        """Shortest ways from `starts` to `targets`; rows of equal `owners` share one search."""
        _, first, groups = np.unique(owners, return_index=True, return_inverse=True)
        tree = _Tree(simulator, pack(starts[first]), starts.shape[1:], self.num_actions)
        found = np.full(len(targets), -1, dtype=np.int64)
        packed = pack(targets)
        for _ in range(self.depth):
            missing = np.flatnonzero(found < 0)
            if not len(missing) or not tree.grow(np.unique(groups[missing])):
                break
            found[missing] = tree.find(groups[missing], packed[missing])
        actions, lengths = tree.paths(found, self.depth)
        simulated = np.zeros(len(targets), dtype=np.int64)
        simulated[first] = tree.simulated
        none = np.zeros(len(targets), dtype=np.int64)
        return Rollouts(targets, actions, lengths, lengths > 0, simulated, none)

    def connect(self, simulator: Simulator, starts: Grids, targets: Grids) -> Rollouts:
        """The same; every row is a search of its own."""
        return self.reach(simulator, starts, targets, np.arange(len(starts)))


class _Tree:
    """States reached from several starts, level by level, each state once per start."""

    def __init__(
        self, simulator: Simulator, starts: Bytes, shape: tuple[int, ...], num_actions: int
    ) -> None:
        self.simulator, self.shape, self.num_actions = simulator, shape, num_actions
        self.states, self.owners = starts, np.arange(len(starts))
        self.parents = np.full(len(starts), -1, dtype=np.int64)
        self.actions = np.full(len(starts), -1, dtype=np.int64)
        self.simulated = np.zeros(len(starts), dtype=np.int64)
        self.level = 0

    def grow(self, owners: Ints) -> bool:
        """Adds the next level for some owners; False if there is none."""
        frontier = np.arange(self.level, len(self.states))
        frontier = frontier[np.isin(self.owners[frontier], owners)]
        self.level = len(self.states)
        if not len(frontier):
            return False
        origins = np.repeat(frontier, self.num_actions)
        actions = np.tile(np.arange(self.num_actions), len(frontier))
        reached = pack(self.simulator.step(self.states[origins].reshape(-1, *self.shape), actions))
        np.add.at(self.simulated, self.owners[origins], 1)
        all_owners = np.concatenate([self.owners, self.owners[origins]])
        all_states = np.concatenate([self.states, reached])
        first = first_occurrences(all_owners, all_states)
        new = np.flatnonzero(first == np.arange(len(first)))
        new = new[new >= self.level] - self.level
        self.states = np.concatenate([self.states, reached[new]])
        self.owners = np.concatenate([self.owners, self.owners[origins[new]]])
        self.parents = np.concatenate([self.parents, origins[new]])
        self.actions = np.concatenate([self.actions, actions[new]])
        return True

    def find(self, owners: Ints, targets: Bytes) -> Ints:
        """The places of targets in the last level, or -1, `[M]`."""
        count = len(self.states) - self.level
        first = first_occurrences(
            np.concatenate([self.owners[self.level :], owners]),
            np.concatenate([self.states[self.level :], targets]),
        )[count:]
        return np.where(first < count, first + self.level, -1)

    def paths(self, places: Ints, depth: int) -> tuple[ActionLog, Ints]:
        """Actions `[M, depth]` and lengths `[M]` of the ways to `places`; 0 for none."""
        backwards = np.full((len(places), depth), -1, dtype=np.int64)
        lengths = np.zeros(len(places), dtype=np.int64)
        current = places.copy()
        for step in range(depth):
            going = np.flatnonzero((current >= 0) & (self.parents[current] >= 0))
            backwards[going, step] = self.actions[current[going]]
            lengths[going] += 1
            current[going] = self.parents[current[going]]
        columns = lengths[:, None] - 1 - np.arange(depth)
        ordered = np.take_along_axis(backwards, np.maximum(columns, 0), axis=1)
        return np.where(columns >= 0, ordered, 0).astype(np.uint16), lengths


@dataclass(frozen=True, slots=True)
class VerifiedReach:
    """A verifier discards hopeless targets and accepts safe ones; the policy tries the others.

    The actions to an accepted target stay pending until a plan needs them.

    Attributes:
        policy: acts towards a target.
        verifier: the probability that the policy arrives.
        limits: of a rollout.
        distance: assumed length of accepted edges.
        reject: targets with at most this probability are discarded.
        accept: targets with at least this probability are accepted without a rollout.
    """

    policy: ReachPolicy
    verifier: Verifier
    limits: RolloutLimits
    distance: int
    reject: float = 0.1
    accept: float = 0.99

    def __post_init__(self) -> None:
        if not 0.0 <= self.reject <= self.accept:
            raise ConfigError(
                f"The verifier cannot reject up to {self.reject} and accept from {self.accept}; "
                "the first must not exceed the second."
            )

    def reach(self, simulator: Simulator, starts: Grids, targets: Grids, owners: Ints) -> Rollouts:
        """Verdicts for all targets, and rollouts for those in between."""
        if not len(targets):
            return self.connect(simulator, starts, targets)
        chances = self.verifier.probabilities(starts, targets)
        if chances.shape != (len(targets),):
            raise ContractError(
                f"a verifier must return [{len(targets)}], got {list(chances.shape)}"
            )
        accepted = chances >= self.accept
        open_rows = np.flatnonzero((chances > self.reject) & ~accepted)
        tried = self.connect(simulator, starts[open_rows], targets[open_rows])
        count, width = len(targets), max(self.distance, tried.actions.shape[1])
        actions = np.full((count, width), PENDING, dtype=np.uint16)
        lengths = np.where(accepted, self.distance, 0)
        states, success = targets.copy(), accepted.copy()
        simulated = np.zeros(count, dtype=np.int64)
        calls = np.full(count, calls_of(self.verifier), dtype=np.int64)
        actions[open_rows, : tried.actions.shape[1]] = tried.actions
        lengths[open_rows], states[open_rows] = tried.lengths, tried.states
        success[open_rows], simulated[open_rows] = tried.success, tried.simulated
        calls[open_rows] += tried.policy_calls
        return Rollouts(states, actions, lengths, success, simulated, calls, ~accepted)

    def connect(self, simulator: Simulator, starts: Grids, targets: Grids) -> Rollouts:
        """Rollouts of the policy."""
        found = follow(simulator, self.policy, starts, targets, self.limits)
        return replace(found, policy_calls=found.policy_calls * calls_of(self.policy))


@dataclass(frozen=True, slots=True)
class LateReach:
    """Leaves rollouts of a policy for later, except those to goals.

    Attributes:
        policy: acts towards a target.
        limits: of a rollout.
        foresee: whether to query the policy once for every target: its first chunk may arrive
            already, and targets it does not expect to reach are discarded.
        distance: assumed length of pending edges.
    """

    policy: ReachPolicy
    limits: RolloutLimits
    foresee: bool
    distance: int
    any_dynamics: bool = True

    def reach(self, simulator: Simulator, starts: Grids, targets: Grids, owners: Ints) -> Rollouts:
        """Rollouts to goals, and pending edges to the other targets."""
        goals = simulator.is_goal(targets)
        at_once = self.connect(simulator, starts[goals], targets[goals])
        if not self.foresee:
            first = self._nothing(targets[~goals])
        else:
            first = self._first_chunk(simulator, starts[~goals], targets[~goals])
        order = np.argsort(np.concatenate([np.flatnonzero(goals), np.flatnonzero(~goals)]))
        return _joined(at_once, first, order)

    def connect(self, simulator: Simulator, starts: Grids, targets: Grids) -> Rollouts:
        """Rollouts of the policy."""
        found = follow(simulator, self.policy, starts, targets, self.limits)
        return replace(found, policy_calls=found.policy_calls * calls_of(self.policy))

    def _first_chunk(self, simulator: Simulator, starts: Grids, targets: Grids) -> Rollouts:
        """What one query per target shows."""
        found = follow(simulator, self.policy, starts, targets, self.limits, once=True)
        waiting = found.pending
        assert waiting is not None
        left = self._nothing(targets)
        return Rollouts(
            np.where(waiting[:, None, None], targets, found.states),
            np.where(waiting[:, None], left.actions, found.actions),
            np.where(waiting, np.maximum(found.lengths + 1, self.distance), found.lengths),
            found.success | waiting,
            found.simulated,
            found.policy_calls * calls_of(self.policy),
            pending=waiting,
        )

    def _nothing(self, targets: Grids) -> Rollouts:
        """Every target pending, at no cost."""
        count = len(targets)
        none, yes = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.bool_)
        actions = np.full((count, self.limits.horizon), PENDING, dtype=np.uint16)
        lengths = np.full(count, self.distance)
        return Rollouts(targets, actions, lengths, yes, none, none, pending=yes)


def _joined(at_once: Rollouts, late: Rollouts, order: Ints) -> Rollouts:
    """Both in `order`; those `at_once` are not pending."""
    assert late.pending is not None
    pending = np.concatenate([np.zeros(len(at_once.states), dtype=np.bool_), late.pending])

    def both(name: str) -> Any:
        return np.concatenate([getattr(at_once, name), getattr(late, name)])[order]

    return Rollouts(
        both("states"),
        both("actions"),
        both("lengths"),
        both("success"),
        both("simulated"),
        both("policy_calls"),
        pending=pending[order],
    )
