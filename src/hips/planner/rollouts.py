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

from hips.domains.base import CONFIDENCE, Actions, Bools, Grids
from hips.planner.kernels import as_rows, hash_rows, rows_differ
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
        """Moves `rows`; returns which came to a state they had not been in. Others stay put."""
        reached = step(self.states[rows], actions)
        codes = hash_rows(as_rows(reached))
        self.simulated[rows] += 1
        new: Bools = ~(self.visited[rows] == codes[:, None]).any(axis=1)
        moved = rows[new]
        self.states[moved] = reached[new]
        self.actions[moved, self.lengths[moved]] = actions[new]
        self.lengths[moved] += 1
        self.visited[moved, self.lengths[moved]] = codes[new]
        return new

    def bar(self, rows: Ints, actions: Ints, new: Bools) -> Bools:
        """Bars the actions that led nowhere new; returns which of `rows` have a chance left."""
        self.barred[rows[new]] = NO_ACTION
        stuck = rows[~new]
        chance = self.repeats[stuck] < SECOND_CHANCES
        tried = stuck[chance]
        self.barred[tried, self.repeats[tried]] = actions[~new][chance]
        self.repeats[stuck] += 1
        return self.repeats[rows] <= SECOND_CHANCES

    def without_barred(self, rows: Ints, log_probabilities: Floats) -> tuple[Floats, Bools]:
        """Forbids barred first actions in `[B, C, A]`; returns also which rows have any."""
        barred = self.barred[rows]
        row, chance = np.nonzero(barred != NO_ACTION)
        if len(row):
            log_probabilities = log_probabilities.copy()
            log_probabilities[row, 0, barred[row, chance]] = -np.inf
        return log_probabilities, (barred != NO_ACTION).any(axis=1)

    def finish(self, success: Bools, policy_calls: Ints) -> Rollouts:
        return Rollouts(
            self.states, self.actions, self.lengths, success, self.simulated, policy_calls
        )


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
            success[rows[done]] = True
            hopeful = walkers.bar(rows, actions, new)
            alive[moving] = hopeful & ~done & (walkers.lengths[rows] < horizon)
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
