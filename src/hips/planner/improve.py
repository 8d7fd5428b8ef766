"""Shorter plans from found ones: loops cut out, stretches replaced by exact search. Anytime."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from hips.domains.base import Actions, Domain, Grid, Grids, replay
from hips.errors import ContractError
from hips.planner.result import Result, Segment
from hips.planner.validate import is_plan

FIRST_EFFORT, LAST_EFFORT, EFFORT_GROWTH = 64, 1 << 20, 4
"""States of one exact search: every sweep over the plan looks further than the one before."""


def improve(domain: Domain, start: Grid, result: Result, seconds: float) -> Result:
    """The same result with a plan that is at most as long, after at most about `seconds`."""
    if not result.solved or not result.plan or seconds <= 0:
        return result
    actions = domain.spec.action_indices(result.plan)
    shorter = shorten(domain, start, actions, seconds)
    if len(shorter) >= len(actions):
        return result
    if not is_plan(domain, start, shorter):
        raise ContractError(
            f"'{domain.name}': a shortened plan fails; `step` must be deterministic"
        )
    segments = (Segment("improved", "", len(shorter)),)
    return dataclasses.replace(
        result, plan=domain.spec.action_names(shorter), segments=segments if len(shorter) else ()
    )


def shorten(domain: Domain, start: Grid, actions: Actions, seconds: float) -> Actions:
    """A plan from `start` to a goal, never longer than `actions`."""
    deadline = time.perf_counter() + seconds
    best = cut_loops(domain, start, actions)
    effort = FIRST_EFFORT
    while effort <= LAST_EFFORT and time.perf_counter() < deadline:
        best = _sweep(domain, start, best, effort, deadline)
        effort *= EFFORT_GROWTH
    return best


def cut_loops(domain: Domain, start: Grid, actions: Actions) -> Actions:
    """The plan up to its first goal state, without the stretches that come back to a state."""
    states = replay(domain, start, actions)
    end = int(domain.is_goal(states).argmax()) if domain.is_goal(states).any() else len(actions)
    last_visit = {state.tobytes(): i for i, state in enumerate(states[: end + 1])}
    kept: list[int] = []
    here = 0
    while (here := last_visit[states[here].tobytes()]) < end:
        kept.append(int(actions[here]))
        here += 1
    return np.array(kept, dtype=np.int64)


def _sweep(domain: Domain, start: Grid, actions: Actions, effort: int, deadline: float) -> Actions:
    """Looks for a shortcut from every state of the plan, taking each as it is found."""
    here = 0
    while here < len(actions) and time.perf_counter() < deadline:
        states = replay(domain, start, actions)
        found = _shortcut(domain, states[here:], effort, deadline)
        if found is None:
            here += 1
        else:
            detour, rejoin = found
            actions = np.concatenate([actions[:here], detour, actions[here + rejoin :]])
    return actions


def _shortcut(
    domain: Domain, states: Grids, effort: int, deadline: float
) -> tuple[Actions, int] | None:
    """The best way from the first state to a later one by fewer steps, and which one it joins.

    Breadth-first over at most `effort` states; any goal state counts as the last one.
    """
    later = {state.tobytes(): i for i, state in enumerate(states)}
    parents: dict[bytes, tuple[bytes, int]] = {states[0].tobytes(): (b"", -1)}
    frontier, depth, last = states[:1], 0, len(states) - 1
    best_gain, best = 0, None
    while len(frontier) and len(parents) < effort and depth < last - best_gain:
        depth += 1
        frontier = _layer(domain, frontier, parents)
        goals = domain.is_goal(frontier)
        for state, goal in zip(frontier, goals, strict=True):
            joined = last if goal else later.get(state.tobytes(), 0)
            if joined - depth > best_gain:
                best_gain, best = joined - depth, (state.tobytes(), joined)
        if time.perf_counter() >= deadline:
            break
    return None if best is None else (_walk_back(parents, best[0]), best[1])


def _layer(domain: Domain, frontier: Grids, parents: dict[bytes, tuple[bytes, int]]) -> Grids:
    """New states one step further, `[M, H, W]`; their parents are noted."""
    num_actions = domain.spec.num_actions
    repeated = np.repeat(frontier, num_actions, axis=0)
    reached = domain.step(repeated, np.tile(np.arange(num_actions), len(frontier)))
    new = []
    for i, state in enumerate(reached):
        if (key := state.tobytes()) not in parents:
            parents[key] = (repeated[i].tobytes(), i % num_actions)
            new.append(i)
    return reached[new]


def _walk_back(parents: dict[bytes, tuple[bytes, int]], state: bytes) -> Actions:
    actions: list[int] = []
    while (step := parents[state])[1] >= 0:
        actions.append(step[1])
        state = step[0]
    return np.array(actions[::-1], dtype=np.int64)
