"""Anytime plan improvement: cuts loops and replaces segments by exact search."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from hips.arrays import Actions, Grid, Grids
from hips.domains.base import Domain, replay
from hips.domains.breadth_first import BreadthFirst
from hips.errors import ContractError
from hips.planner.result import Result, Segment
from hips.planner.validate import is_plan

FIRST_EFFORT, LAST_EFFORT, EFFORT_GROWTH = 64, 1 << 20, 4
"""State limits of the exact searches, one per sweep: each sweep looks further than the last."""


def improve(domain: Domain, start: Grid, result: Result, seconds: float) -> Result:
    """The same result with an equally long or shorter plan, after about `seconds` at most."""
    if not result.solved or not result.plan or seconds <= 0:
        return result
    actions = domain.spec.action_indices(result.plan)
    shorter = shorten(domain, start, actions, seconds)
    if len(shorter) >= len(actions):
        return result
    if not is_plan(domain, start, shorter):
        raise ContractError(
            f"'{domain.name}': a shortened plan fails on replay; `step` must be deterministic"
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
    """The plan up to its first goal state, without loops."""
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
    """Looks for a shortcut from every state of the plan and takes each one it finds."""
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
    """The best shortcut from the first state to a later one, and the index where it rejoins.

    Searches breadth-first over at most `effort` states; any goal counts as the last state.
    """
    later = {state.tobytes(): i for i, state in enumerate(states)}
    search, last = BreadthFirst(domain, states[0]), len(states) - 1
    saved, best = 0, None
    while len(search.layer) and search.num_states < effort and search.depth < last - saved:
        search.advance()
        goals = domain.is_goal(search.layer)
        for state, goal in zip(search.layer, goals, strict=True):
            joined = last if goal else later.get(state.tobytes(), 0)
            if joined - search.depth > saved:
                saved, best = joined - search.depth, (state, joined)
        if time.perf_counter() >= deadline:
            break
    return None if best is None else (search.way_to(best[0]), best[1])
