"""Small problems of every domain, each with the exhaustive truth: can a goal be reached?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from hips import domains
from hips.domains import Domain, Grid, Grids, replay
from hips.seeding import stream
from tests.domains.reference import goal_distances
from tests.planner.test_domains_complete import sokoban_rooms


@dataclass(frozen=True)
class Family:
    """Start states of one domain and size, and which of them have a plan, `[N]`."""

    domain: Domain
    starts: Grids
    solvable: np.ndarray


def closure(domain: Domain, starts: Grids) -> Grids:
    """All states reachable from `starts`, breadth first."""
    known = {start.tobytes(): start for start in starts}
    layer, actions = starts, np.arange(domain.spec.num_actions)
    while len(layer):
        reached = domain.step(np.repeat(layer, len(actions), axis=0), np.tile(actions, len(layer)))
        new = {state.tobytes(): state for state in reached if state.tobytes() not in known}
        known |= new
        layer = np.array(list(new.values()), dtype=np.uint8).reshape(-1, *starts.shape[1:])
    return np.stack(list(known.values()))


def judged(domain: Domain, starts: list[Grid]) -> Family:
    """The family of `starts`, judged by the whole space of states around them."""
    grids = np.stack(starts)
    alive = goal_distances(domain, closure(domain, grids))
    return Family(domain, grids, np.array([start.tobytes() in alive for start in grids]))


def tiles() -> Family:
    """All arrangements of three tiles; half of them have no plan."""
    domain = domains.create("sliding_tiles", height=2, width=2)
    rng = stream(0, "attack", "tiles")
    return judged(domain, [rng.permutation(4).astype(np.uint8).reshape(2, 2) for _ in range(240)])


def rooms() -> Family:
    """Every room of three by two cells with one box, one goal and one player, and some twice."""
    base = domains.create("sokoban")
    starts = [base.parse(room) for room in sokoban_rooms(2, 3)]
    return judged(base.for_grid(starts[0]), (starts * 2)[:240])


def boxes() -> Family:
    """Small Box-Worlds and states of random walks in them, dead ends among them."""
    domain = domains.create("box_world", size=4, goal_length=2, distractors=1, distractor_length=1)
    rng = stream(0, "attack", "boxes")
    starts: list[Grid] = []
    for level in domain.sample(rng, 40):
        starts += list(replay(domain, level, rng.integers(4, size=60))[[0, 5, 12, 25, 40, 60]])
    return judged(domain, starts)


def tours() -> Family:
    """Small maps with two cities; a tour always exists."""
    domain = domains.create("tsp", size=3, cities=2)
    return judged(domain, list(domain.sample(stream(0, "attack", "tours"), 240)))


MAKERS = {"sliding_tiles": tiles, "sokoban": rooms, "box_world": boxes, "tsp": tours}


@cache
def family(name: str) -> Family:
    """The problems of a domain."""
    return MAKERS[name]()
