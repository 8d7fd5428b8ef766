"""From a state to a subgoal: batched rollouts of a policy, and execution of given action lists.

A rollout stops at the horizon, on reaching its subgoal, or on passing through a goal state. It
never returns to a state it has visited, since the greedy policy is deterministic and would loop
forever; instead it tries the next best action, up to `RolloutLimits.retries` times. It stops as
soon as the policy does not expect to arrive; otherwise unreachable subgoals would take most of
the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numba import njit

from hips.arrays import ActionLog, Actions, Bools, Bytes, Floats, Grids, Ints
from hips.errors import ConfigError
from hips.planner.packing import hash_state, hash_states, pack
from hips.planner.protocols import NO_ACTION, ReachPolicy

StepFunction: TypeAlias = Callable[[Grids, Actions], Grids]
GoalFunction: TypeAlias = Callable[[Grids], Bools]

NOT_VISITED = -1  # hashes are not negative
DEFAULT_RETRIES = 2


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """Limits of a rollout.

    Attributes:
        horizon: maximum number of low-level steps.
        chunk_confidence: a predicted action after the first is executed without querying the
            policy again if it is at least this likely; 1 queries the policy at every step.
        min_reach_probability: a rollout stops when the probability of arriving falls below this.
        retries: how often a rollout may try another action where the likeliest leads to no new
            state.
        pass_goals: whether a goal on the way ends a rollout as a success.
    """

    horizon: int
    chunk_confidence: float = 0.95
    min_reach_probability: float = 0.0
    retries: int = DEFAULT_RETRIES
    pass_goals: bool = True

    def __post_init__(self) -> None:
        if self.horizon < 1:
            raise ConfigError(f"A horizon of {self.horizon} steps is invalid; give 1 or more.")
        if not 0.0 < self.chunk_confidence <= 1.0:
            raise ConfigError(f"chunk_confidence = {self.chunk_confidence} is not in (0, 1].")
        if not 0.0 <= self.min_reach_probability <= 1.0:
            raise ConfigError(
                f"min_reach_probability = {self.min_reach_probability} is not in [0, 1]."
            )

    @property
    def least_log_probability(self) -> float:
        """Log-probability below which a predicted action is not executed."""
        return math.inf if self.chunk_confidence >= 1.0 else math.log(self.chunk_confidence)


class Simulator(NamedTuple):
    """Batched T(s, a) and goal test for rollouts; the number of actions, where it is known."""

    step: StepFunction
    is_goal: GoalFunction
    num_actions: int | None = None


@dataclass(frozen=True, slots=True)
class Rollouts:
    """The ends of rollouts.

    Attributes:
        states: `[M, H, W]`, the last states.
        actions: `[M, L]`, the actions taken.
        lengths: `[M]`, number of actions.
        success: `[M]`, whether the subgoal, or a goal on the way, was reached in at least one step.
        simulated: `[M]`, calls of the dynamics.
        policy_calls: `[M]`, rows passed to the policy.
        exact: `[M]`, whether true steps reached the state; None if all did. The actions of the
            others are `PENDING`.
        pending: `[M]`, whether the rollout is left for later; None if none is. Its length is an
            estimate, and its actions are `PENDING`.
    """

    states: Grids
    actions: ActionLog
    lengths: Ints
    success: Bools
    simulated: Ints
    policy_calls: Ints
    exact: Bools | None = None
    pending: Bools | None = None


class Reacher(Protocol):
    """Finds the actions to proposed states."""

    def reach(self, simulator: Simulator, starts: Grids, targets: Grids, owners: Ints) -> Rollouts:
        """From `starts` to `targets`, both `[M, H, W]`; equal `owners` `[M]` share a start.

        `policy_calls` counts the rows of all networks.
        """
        ...

    def connect(self, simulator: Simulator, starts: Grids, targets: Grids) -> Rollouts:
        """The same, leaving nothing pending."""
        ...


def takes_learned_dynamics(reacher: Reacher) -> bool:
    """Whether the reacher works in any dynamics; only if it has `any_dynamics`."""
    return bool(getattr(reacher, "any_dynamics", False))


class Walkers(NamedTuple):
    """Running rollouts, one entry for each of M walkers.

    Attributes:
        states: `[M, S]`, current states, packed.
        targets: `[M, S]`, subgoals, packed.
        actions: `[M, L]`, actions taken.
        lengths: `[M]`, number of actions taken.
        simulated: `[M]`, calls of the dynamics.
        visited: `[M, L + 1]`, hashes of visited states.
        barred: `[M, retries]`, actions that lead to no new state from here.
        repeats: `[M]`, how often that happened.
        success: `[M]`, whether the walker has arrived.
        alive: `[M]`, whether the walker continues.
    """

    states: Bytes
    targets: Bytes
    actions: ActionLog
    lengths: Ints
    simulated: Ints
    visited: Ints
    barred: Ints
    repeats: Ints
    success: Bools
    alive: Bools


def no_goal(states: Grids) -> Bools:
    """A goal test that never succeeds, for rollouts that do not stop at goals."""
    return np.zeros(len(states), dtype=np.bool_)


def start_walkers(
    starts: Grids, targets: Grids, horizon: int, retries: int = DEFAULT_RETRIES
) -> Walkers:
    """Walkers from `starts` to `targets`, both `[M, H, W]`."""
    count = len(starts)
    packed = pack(starts)
    visited = np.full((count, horizon + 1), NOT_VISITED, dtype=np.int64)
    visited[:, 0] = hash_states(packed)
    return Walkers(
        states=packed.copy(),
        targets=pack(targets),
        actions=np.zeros((count, horizon), dtype=np.uint16),
        lengths=np.zeros(count, dtype=np.int64),
        simulated=np.zeros(count, dtype=np.int64),
        visited=visited,
        barred=np.full((count, retries), NO_ACTION, dtype=np.int64),
        repeats=np.zeros(count, dtype=np.int64),
        success=np.zeros(count, dtype=np.bool_),
        alive=np.ones(count, dtype=np.bool_),
    )


@njit(cache=True, nogil=True)
def advance(walkers: Walkers, rows: Ints, actions: Ints, reached: Bytes, goals: Bools) -> Bools:
    """Moves walkers `rows` by `actions` to `reached`; returns which may continue, all `[B]`.

    An action that leads to no new state is not taken, and is barred until the walker moves; the
    rest of its chunk is void. A walker that has arrived, or is out of steps or chances, is no
    longer `alive`.
    """
    going = np.zeros(len(rows), dtype=np.bool_)
    most_repeats, horizon = walkers.barred.shape[1], walkers.actions.shape[1]
    for m in range(len(rows)):
        row = rows[m]
        walkers.simulated[row] += 1
        code = hash_state(reached[m], 0)
        new = True
        for i in range(walkers.lengths[row] + 1):
            if walkers.visited[row, i] == code:
                new = False
        if not new:
            if walkers.repeats[row] < most_repeats:
                walkers.barred[row, walkers.repeats[row]] = actions[m]
            walkers.repeats[row] += 1
            walkers.alive[row] = walkers.repeats[row] <= most_repeats
            continue
        walkers.states[row] = reached[m]
        walkers.actions[row, walkers.lengths[row]] = actions[m]
        walkers.lengths[row] += 1
        walkers.visited[row, walkers.lengths[row]] = code
        walkers.barred[row] = NO_ACTION
        walkers.success[row] = goals[m] or np.array_equal(reached[m], walkers.targets[row])
        walkers.alive[row] = not walkers.success[row] and walkers.lengths[row] < horizon
        going[m] = walkers.alive[row]
    return going


@njit(cache=True, nogil=True)
def choose(
    barred: Ints,
    alive: Bools,
    rows: Ints,
    log_probabilities: Floats,
    chances: Floats,
    least_log_probability: float,
    least_chance: float,
) -> tuple[Ints, Ints]:
    """The likeliest actions `[B, C]` of walkers `rows`, and how many to execute, `[B]`.

    The first is always executed, unless the probability of arriving is below `least_chance`; the
    following ones while their log-probability is at least `least_log_probability`. Barred actions
    are not taken, and predictions after one are not used.
    """
    count, longest, num_actions = log_probabilities.shape
    best = np.zeros((count, longest), dtype=np.int64)
    lengths = np.zeros(count, dtype=np.int64)
    for b in range(count):
        row = rows[b]
        if not chances[b] >= least_chance:
            alive[row] = False
            continue
        detour = barred.shape[1] > 0 and barred[row].max() != NO_ACTION
        for c in range(1 if detour else longest):
            highest = -np.inf
            for action in range(num_actions):
                value = log_probabilities[b, c, action]
                if value > highest and not (detour and np.any(barred[row] == action)):
                    highest = value
                    best[b, c] = action
            if c > 0 and highest < least_log_probability:
                break
            lengths[b] += 1
    return best, lengths


def follow(
    simulator: Simulator,
    policy: ReachPolicy,
    starts: Grids,
    targets: Grids,
    limits: RolloutLimits,
    once: bool = False,
) -> Rollouts:
    """Rolls out the policy's likeliest actions from `starts` towards `targets`, both `[M, H, W]`.

    The policy predicts a chunk of actions; `RolloutLimits` decides how much of it is executed
    before the next query. With `once` there is no second query: rollouts that would go on are
    `pending`.
    """
    walkers = start_walkers(starts, targets, limits.horizon, limits.retries)
    policy_calls = np.zeros(len(starts), dtype=np.int64)
    shape = starts.shape[1:]
    active = np.arange(len(starts))
    while len(active):
        foresight = policy.act(walkers.states[active].reshape(-1, *shape), targets[active])
        foresight.check(len(active), simulator.num_actions)
        policy_calls[active] += 1
        reachable = foresight.reachable
        chunk, lengths = choose(
            walkers.barred,
            walkers.alive,
            active,
            foresight.log_probabilities,
            np.ones(len(active)) if reachable is None else reachable.astype(np.float64),
            limits.least_log_probability,
            limits.min_reach_probability,
        )
        moving, done = np.flatnonzero(lengths), 0
        while len(moving):
            going = _step(simulator, walkers, shape, active[moving], chunk[moving, done])
            done += 1
            moving = moving[going & (lengths[moving] > done)]
        active = active[walkers.alive[active]]
        if once:
            break
    found = _finish(walkers, shape, walkers.success, policy_calls)
    return replace(found, pending=walkers.alive) if once else found


def execute(simulator: Simulator, starts: Grids, actions: Ints) -> Rollouts:
    """Executes action lists `[M, L]` until they end, reach no new state, or pass through a goal."""
    count, horizon = actions.shape
    walkers = start_walkers(starts, starts, horizon)
    shape = starts.shape[1:]
    active = np.arange(count)
    for i in range(horizon):
        active = active[actions[active, i] != NO_ACTION]
        if not len(active):
            break
        active = active[_step(simulator, walkers, shape, active, actions[active, i])]
    return _finish(walkers, shape, walkers.lengths > 0, np.zeros(count, dtype=np.int64))


def _step(
    simulator: Simulator, walkers: Walkers, shape: tuple[int, ...], rows: Ints, actions: Ints
) -> Bools:
    """Moves walkers `rows`; returns which may continue with their chunk."""
    reached = simulator.step(walkers.states[rows].reshape(-1, *shape), actions)
    return advance(walkers, rows, actions, pack(reached), simulator.is_goal(reached))


def _finish(
    walkers: Walkers, shape: tuple[int, ...], success: Bools, policy_calls: Ints
) -> Rollouts:
    return Rollouts(
        walkers.states.reshape(-1, *shape),
        walkers.actions,
        walkers.lengths,
        success,
        walkers.simulated,
        policy_calls,
    )
