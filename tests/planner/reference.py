"""Best-first search as one would write it on paper: a dictionary, a list, no arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.domains import Domain, Grid
from hips.planner.evaluations import resolve
from hips.planner.expander import Hybrid


@dataclass
class Node:
    state: Grid
    rank: tuple[float, float, int]
    g: int
    steps: int
    log_pi: float
    plan: tuple[int, ...]


def search(
    domain: Domain,
    start: Grid,
    expander: Hybrid,
    evaluation: str,
    max_expansions: int = 10**6,
    keep_first: bool = False,
) -> tuple[tuple[int, ...] | None, list[bytes]]:
    """A plan (or None) and the states in the order in which they were expanded."""
    key = resolve(evaluation).key
    frontier = {start.tobytes(): Node(start, (0, -np.inf, 0), 0, 0, 0.0, ())}
    expanded: list[bytes] = []
    counter = 1
    while frontier and len(expanded) < max_expansions:
        name = min(frontier, key=lambda name: frontier[name].rank)
        node = frontier.pop(name)
        expanded.append(name)
        children = expander.expand(node.state[None])
        solutions = []
        for m, state in enumerate(children.states):
            child = state.tobytes()
            if child in expanded or (keep_first and child in frontier):
                continue
            g, steps = node.g + 1, node.steps + int(children.lengths[m])
            log_pi = node.log_pi + float(children.log_probabilities[m])
            h = 0.0 if expander.heuristic is None else expander.heuristic.distances(state[None])[0]
            arrays = (np.array([g]), np.array([steps]), np.array([log_pi]), np.array([float(h)]))
            rank = (int(children.tiers[m]), float(key(*arrays)[0]), counter)
            kind = int(children.kinds[m])
            edge = [~kind] if kind < 0 else children.actions[m, : children.lengths[m]].tolist()
            found = Node(state, rank, g, steps, log_pi, (*node.plan, *edge))
            if domain.is_goal(state[None])[0]:
                solutions.append(found)
            elif child not in frontier or rank[:2] < frontier[child].rank[:2]:
                frontier[child] = found
                counter += 1
        if solutions:
            return min(solutions, key=lambda found: found.rank[:2]).plan, expanded
    return None, expanded
