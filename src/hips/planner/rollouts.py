"""From a state to a subgoal: batched rollouts of a policy, and execution of given action lists.

A rollout stops at the horizon, on reaching its subgoal, or on passing through a goal state. An
action that leads to a state where it has been is not taken: the greedy policy is deterministic and
would go round for ever. A few times the rollout tries the next best action there, then it gives up.
It gives up at once where the policy itself does not believe that it gets there: most of the time
would go into subgoals that cannot be reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.domains.base import CONFIDENCE, Actions, Bools, Grids
from hips.planner.kernels import Bytes, as_rows, hash_row, hash_rows, rows_differ
from hips.planner.protocols import NO_ACTION, Floats, Foresight, Ints, ReachPolicy

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
    """Rollouts under way: states, what they did, and where they have been."""

    def __init__(self, starts: Grids, horizon: int) -> None:
        count = len(starts)
        self.states = starts.copy()
        self.actions = np.zeros((count, horizon), dtype=np.uint8)
        self.lengths = np.zeros(count, dtype=np.int64)
        self.simulated = np.zeros(count, dtype=np.int64)
        self.visited = np.full((count, horizon + 1), NOT_VISITED, dtype=np.int64)
        self.visited[:, 0] = hash_rows(as_rows(starts))
        self.barred = np.full((count, SECOND_CHANCES), NO_ACTION, dtype=np.int64)
        self.repeats = np.zeros(count, dtype=np.int64)

    def step(self, step: StepFunction, rows: Ints, actions: Ints) -> Bools:
        """Moves `rows`; returns which came to a state they had not been in. Others stay put.

        An action that led nowhere new is barred until the walker moves on.
        """
        reached = step(self.states[rows], actions)
        return advance(
            rows,
            actions,
            as_rows(reached),
            as_rows(self.states),
            self.actions,
            self.lengths,
            self.simulated,
            self.visited,
            self.barred,
            self.repeats,
        )

    def going(self, rows: Ints) -> Bools:
        """Which of `rows` have steps and second chances left."""
        chance = self.repeats[rows] <= SECOND_CHANCES
        return np.asarray(chance & (self.lengths[rows] < self.actions.shape[1]))

    def without_barred(self, rows: Ints, log_probabilities: Floats) -> tuple[Floats, Bools]:
        """Forbids barred first actions in `[B, C, A]`; returns also which rows have any."""
        barred = self.barred[rows]
        row, chance = np.nonzero(barred != NO_ACTION)
        rerouted = np.zeros(len(rows), dtype=np.bool_)
        if len(row):
            rerouted[row] = True
            log_probabilities = log_probabilities.copy()
            log_probabilities[row, 0, barred[row, chance]] = -np.inf
        return log_probabilities, rerouted

    def finish(self, success: Bools, policy_calls: Ints) -> Rollouts:
        return Rollouts(
            self.states, self.actions, self.lengths, success, self.simulated, policy_calls
        )


@njit(cache=True, nogil=True)
def advance(
    rows: Ints,
    actions: Ints,
    reached: Bytes,
    states: Bytes,
    taken: Bytes,
    lengths: Ints,
    simulated: Ints,
    visited: Ints,
    barred: Ints,
    repeats: Ints,
) -> Bools:
    """Notes that `actions` lead `rows` to `reached`; returns which of these states are new.

    `rows`, `actions` and `reached` have one entry for each that moves, the others one for each
    walker; see `_Walkers`.
    """
    new = np.ones(len(rows), dtype=np.bool_)
    for m in range(len(rows)):
        row = rows[m]
        simulated[row] += 1
        code = hash_row(reached[m], 0)
        for i in range(lengths[row] + 1):
            if visited[row, i] == code:
                new[m] = False
        if new[m]:
            states[row] = reached[m]
            taken[row, lengths[row]] = actions[m]
            lengths[row] += 1
            visited[row, lengths[row]] = code
            barred[row] = NO_ACTION
        else:
            if repeats[row] < barred.shape[1]:
                barred[row, repeats[row]] = actions[m]
            repeats[row] += 1
    return new


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
    probability `confidence` (the first always), then the policy is asked again. What it foresaw
    behind a barred action is not used. Where it gives less than `hope` for getting there, nothing
    is executed.
    """
    count = len(starts)
    walkers = _Walkers(starts, horizon)
    success = np.zeros(count, dtype=np.bool_)
    policy_calls = np.zeros(count, dtype=np.int64)
    active = np.arange(count)
    while len(active):
        foresight = policy.act(walkers.states[active], targets[active])
        foresight.check(len(active))
        policy_calls[active] += 1
        active, log_probabilities = _hopeful(active, foresight, hope)
        log_probabilities, rerouted = walkers.without_barred(active, log_probabilities)
        chunk, lengths = _chunks(log_probabilities, confidence)
        lengths[rerouted] = 1
        alive = np.ones(len(active), dtype=np.bool_)
        for c in range(int(lengths.max(initial=0))):
            moving = np.flatnonzero(alive & (lengths > c))
            if not len(moving):
                break
            rows, actions = active[moving], chunk[moving, c]
            new = walkers.step(step, rows, actions)
            lengths[moving[~new]] = 0
            states = walkers.states[rows]
            missed = rows_differ(as_rows(states), as_rows(targets[rows]))
            done = new & (~missed | is_goal(states))
            success[rows] = done
            alive[moving] = walkers.going(rows) & ~done
        active = active[alive]
    return walkers.finish(success, policy_calls)


def execute(step: StepFunction, is_goal: GoalFunction, starts: Grids, actions: Ints) -> Rollouts:
    """Executes action lists `[M, L]` until they end, change nothing new, or pass through a goal."""
    count, horizon = actions.shape
    walkers = _Walkers(starts, horizon)
    active = np.arange(count)
    for i in range(horizon):
        active = active[actions[active, i] != NO_ACTION]
        if not len(active):
            break
        new = walkers.step(step, active, actions[active, i])
        active = active[new & ~is_goal(walkers.states[active])]
    return walkers.finish(walkers.lengths > 0, np.zeros(count, dtype=np.int64))


def _hopeful(rows: Ints, foresight: Foresight, hope: float) -> tuple[Ints, Floats]:
    """The rows that go on, and what they would do, `[B, C, A]`."""
    if foresight.reachable is None:
        return rows, foresight.log_probabilities
    going = foresight.reachable >= hope
    return rows[going], foresight.log_probabilities[going]


def _chunks(log_probabilities: Floats, confidence: float) -> tuple[Ints, Ints]:
    """The likeliest actions `[B, C]` and how many of them to execute, `[B]`."""
    best = log_probabilities.argmax(axis=2)
    sure = log_probabilities.max(axis=2) >= np.log(confidence)
    sure[:, 0] = True
    return best, np.cumprod(sure, axis=1).sum(axis=1)
