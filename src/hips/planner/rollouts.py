"""From a state to a subgoal: batched rollouts of a policy, and execution of given action lists.

A rollout stops at the horizon, on reaching its subgoal, or on passing through a goal state. An
action that leads to a state where it has been is not taken: the greedy policy is deterministic and
would go round for ever. A few times the rollout tries the next best action there, then it gives up.
It gives up at once where the policy itself does not believe that it gets there: most of the time
would go into subgoals that cannot be reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.domains.base import CONFIDENCE, Actions, Bools, Grids
from hips.planner.protocols import NO_ACTION, Floats, Foresight, Ints, ReachPolicy
from hips.planner.rows import Bytes, as_rows, hash_row, hash_rows

StepFunction: TypeAlias = Callable[[Grids, Actions], Grids]
GoalFunction: TypeAlias = Callable[[Grids], Bools]

NOT_VISITED = -1  # hashes are not negative
SECOND_CHANCES = 2
"""How often a rollout may try another action where the likeliest leads nowhere new."""


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Where rollouts ended.

    Attributes:
        states: `[M, H, W]`, the last states.
        actions: `[M, L]`, the actions taken.
        lengths: `[M]`, how many of them.
        success: `[M]`, whether the subgoal, or a goal on the way, was reached by at least one step.
        simulated: `[M]`, calls of the dynamics.
        policy_calls: `[M]`, rows given to the policy.
    """

    states: Grids
    actions: npt.NDArray[np.uint8]
    lengths: Ints
    success: Bools
    simulated: Ints
    policy_calls: Ints


class _Walkers:
    """Rollouts under way: states, what they did, where they have been, and whether they go on."""

    def __init__(self, starts: Grids, targets: Grids, horizon: int) -> None:
        count = len(starts)
        self.states, self.targets = starts.copy(), as_rows(targets)
        self.actions = np.zeros((count, horizon), dtype=np.uint8)
        self.lengths = np.zeros(count, dtype=np.int64)
        self.simulated = np.zeros(count, dtype=np.int64)
        self.visited = np.full((count, horizon + 1), NOT_VISITED, dtype=np.int64)
        self.visited[:, 0] = hash_rows(as_rows(starts))
        self.barred = np.full((count, SECOND_CHANCES), NO_ACTION, dtype=np.int64)
        self.repeats = np.zeros(count, dtype=np.int64)
        self.success = np.zeros(count, dtype=np.bool_)
        self.alive = np.ones(count, dtype=np.bool_)

    def step(self, step: StepFunction, is_goal: GoalFunction, rows: Ints, actions: Ints) -> Bools:
        """Moves `rows`; returns which may go on as they had meant to. See `advance`."""
        reached = step(self.states[rows], actions)
        return advance(
            rows,
            actions,
            as_rows(reached),
            is_goal(reached),
            self.targets,
            as_rows(self.states),
            self.actions,
            self.lengths,
            self.simulated,
            self.visited,
            self.barred,
            self.repeats,
            self.success,
            self.alive,
        )

    def plan(
        self, rows: Ints, foresight: Foresight, confidence: float, hope: float
    ) -> tuple[Ints, Ints]:
        """What `rows` do next, and how much of it; see `choose`."""
        reachable = foresight.reachable
        chances = np.ones(len(rows)) if reachable is None else reachable.astype(np.float64)
        return choose(
            rows,
            foresight.log_probabilities,
            chances,
            self.barred,
            self.alive,
            math.log(confidence),
            hope,
        )

    def finish(self, success: Bools, policy_calls: Ints) -> Rollouts:
        return Rollouts(
            self.states, self.actions, self.lengths, success, self.simulated, policy_calls
        )


@njit(cache=True, nogil=True)
def advance(
    rows: Ints,
    actions: Ints,
    reached: Bytes,
    goals: Bools,
    targets: Bytes,
    states: Bytes,
    taken: Bytes,
    lengths: Ints,
    simulated: Ints,
    visited: Ints,
    barred: Ints,
    repeats: Ints,
    success: Bools,
    alive: Bools,
) -> Bools:
    """Notes that `actions` lead `rows` to `reached`; returns which of them may go on.

    An action that leads nowhere new is not taken, and barred until the walker moves on; what was
    planned behind it is void. Arrived, or out of steps or chances, a walker is no longer `alive`.

    The first four have one entry for each that moves, the others one for each walker; see
    `_Walkers`.
    """
    going = np.zeros(len(rows), dtype=np.bool_)
    for m in range(len(rows)):
        row = rows[m]
        simulated[row] += 1
        code = hash_row(reached[m], 0)
        new = True
        for i in range(lengths[row] + 1):
            if visited[row, i] == code:
                new = False
        if not new:
            if repeats[row] < barred.shape[1]:
                barred[row, repeats[row]] = actions[m]
            repeats[row] += 1
            alive[row] = repeats[row] <= barred.shape[1]
            continue
        states[row] = reached[m]
        taken[row, lengths[row]] = actions[m]
        lengths[row] += 1
        visited[row, lengths[row]] = code
        barred[row] = NO_ACTION
        success[row] = goals[m] or np.array_equal(reached[m], targets[row])
        alive[row] = not success[row] and lengths[row] < taken.shape[1]
        going[m] = alive[row]
    return going


@njit(cache=True, nogil=True)
def choose(
    rows: Ints,
    log_probabilities: Floats,
    chances: Floats,
    barred: Ints,
    alive: Bools,
    least: float,
    hope: float,
) -> tuple[Ints, Ints]:
    """The likeliest actions `[B, C]` of `rows`, and how many of them to execute, `[B]`.

    The first always, unless the policy gives less than `hope` for getting there; the following as
    long as their log-probability is not below `least`. Barred actions are not taken, and what was
    foreseen behind one is not used. `barred` and `alive` have one entry for each walker.
    """
    count, longest, num_actions = log_probabilities.shape
    best = np.zeros((count, longest), dtype=np.int64)
    lengths = np.zeros(count, dtype=np.int64)
    for b in range(count):
        row = rows[b]
        if not chances[b] >= hope:
            alive[row] = False
            continue
        detour = barred[row].max() != NO_ACTION
        for c in range(1 if detour else longest):
            highest = -np.inf
            for action in range(num_actions):
                value = log_probabilities[b, c, action]
                if value > highest and not (detour and np.any(barred[row] == action)):
                    highest = value
                    best[b, c] = action
            if c > 0 and highest < least:
                break
            lengths[b] += 1
    return best, lengths


def follow(
    step: StepFunction,
    is_goal: GoalFunction,
    policy: ReachPolicy,
    starts: Grids,
    targets: Grids,
    horizon: int,
    confidence: float = CONFIDENCE,
    hope: float = 0.0,
) -> Rollouts:
    """Rolls the policy's likeliest actions out from `starts` towards `targets`, both `[M, H, W]`.

    The policy foresees a chunk of actions; they are executed as long as each has at least the
    probability `confidence` (the first always), then the policy is asked again. Where it gives
    less than `hope` for getting there, nothing is executed.
    """
    walkers = _Walkers(starts, targets, horizon)
    policy_calls = np.zeros(len(starts), dtype=np.int64)
    active = np.arange(len(starts))
    while len(active):
        foresight = policy.act(walkers.states[active], targets[active])
        foresight.check(len(active))
        policy_calls[active] += 1
        chunk, lengths = walkers.plan(active, foresight, confidence, hope)
        moving, done = np.flatnonzero(lengths), 0
        while len(moving):
            going = walkers.step(step, is_goal, active[moving], chunk[moving, done])
            done += 1
            moving = moving[going & (lengths[moving] > done)]
        active = active[walkers.alive[active]]
    return walkers.finish(walkers.success, policy_calls)


def execute(step: StepFunction, is_goal: GoalFunction, starts: Grids, actions: Ints) -> Rollouts:
    """Executes action lists `[M, L]` until they end, change nothing new, or pass through a goal."""
    count, horizon = actions.shape
    walkers = _Walkers(starts, starts, horizon)
    active = np.arange(count)
    for i in range(horizon):
        active = active[actions[active, i] != NO_ACTION]
        if not len(active):
            break
        active = active[walkers.step(step, is_goal, active, actions[active, i])]
    return walkers.finish(walkers.lengths > 0, np.zeros(count, dtype=np.int64))
