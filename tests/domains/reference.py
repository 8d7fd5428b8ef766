"""Comparing a domain's kernels with a naive, obviously right reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hips.domains import Domain, Grid, Grids
from hips.seeding import stream

NaiveStep = Callable[[Grid, str], Grid]
NaiveGoal = Callable[[Grid], bool]


def compare_on_walks(
    domain: Domain, step: NaiveStep, is_goal: NaiveGoal, seed: int, count: int = 4, length: int = 60
) -> None:
    """Kernel and reference agree along random walks, for a whole batch at a time."""
    rng = stream(seed, "reference")
    states = domain.sample(rng, count)
    for _ in range(length):
        actions = rng.integers(domain.spec.num_actions, size=count)
        names = domain.spec.action_names(actions)
        expected = [step(state, name) for state, name in zip(states, names, strict=True)]
        states = domain.step(states, actions)
        np.testing.assert_array_equal(states, np.stack(expected))
        assert domain.is_goal(states).tolist() == [is_goal(state) for state in states]


def enumerate_states(domain: Domain, start: Grid, step: NaiveStep, limit: int = 50_000) -> Grids:
    """All states reachable from `start`, comparing every transition with the reference."""
    seen = {start.tobytes(): start}
    frontier = [start]
    while frontier:
        state = frontier.pop()
        batch = np.repeat(state[None], domain.spec.num_actions, axis=0)
        children = domain.step(batch, np.arange(domain.spec.num_actions))
        for name, child in zip(domain.spec.actions, children, strict=True):
            np.testing.assert_array_equal(child, step(state, name))
            if child.tobytes() not in seen:
                seen[child.tobytes()] = child
                frontier.append(child)
        assert len(seen) < limit
    return np.stack(list(seen.values()))


def goal_distances(domain: Domain, states: Grids) -> dict[bytes, int]:
    """Fewest steps to a goal from each of a closed set of states; dead states are left out."""
    parents: dict[bytes, list[bytes]] = {state.tobytes(): [] for state in states}
    for action in range(domain.spec.num_actions):
        children = domain.step(states, np.full(len(states), action))
        for state, child in zip(states, children, strict=True):
            parents[child.tobytes()].append(state.tobytes())
    layer = [state.tobytes() for state in states[domain.is_goal(states)]]
    distances = dict.fromkeys(layer, 0)
    while layer:
        layer = list({p for key in layer for p in parents[key] if p not in distances})
        distances.update(dict.fromkeys(layer, max(distances.values()) + 1))
    return distances
