"""Completeness on small instances of the shipped domains, against plain breadth-first truth."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from hips import domains
from hips.domains import Domain, Grid, Grids, replay
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.search import solve_many

from .expanders import misleading
from .test_completeness import EPSILONS


def is_solvable(domain: Domain, start: Grid) -> bool:
    """Whether any reachable state is a goal."""
    seen, frontier = {start.tobytes()}, start[None]
    actions = np.arange(domain.spec.num_actions)
    while len(frontier):
        if domain.is_goal(frontier).any():
            return True
        reached = domain.step(
            np.repeat(frontier, len(actions), axis=0), np.tile(actions, len(frontier))
        )
        new = {state.tobytes(): state for state in reached if state.tobytes() not in seen}
        seen |= new.keys()
        frontier = np.array(list(new.values()), dtype=np.uint8).reshape(-1, *start.shape)
    return False


def check(domain: Domain, starts: list[Grid], results: list[Result]) -> set[Outcome]:
    for start, result in zip(starts, results, strict=True):
        expected = Outcome.SOLVED if is_solvable(domain, start) else Outcome.UNSOLVABLE
        assert result.outcome is expected
        states = replay(domain, start, domain.spec.action_indices(result.plan))
        assert domain.is_goal(states[-1:])[0] == result.solved
    return {result.outcome for result in results}


def sokoban_rooms(rows: int, columns: int) -> list[str]:
    """Every room of this size with one box, one goal and one player."""
    cells = list(itertools.product(range(rows), range(columns)))
    rooms = []
    for box, goal, player in itertools.product(cells, repeat=3):
        if player == box or box == goal:
            continue
        grid = [[" "] * columns for _ in range(rows)]
        grid[goal[0]][goal[1]] = "."
        grid[box[0]][box[1]] = "$"
        grid[player[0]][player[1]] = "+" if player == goal else "@"
        wall = "#" * (columns + 2)
        rooms.append("\n".join([wall, *("#" + "".join(row) + "#" for row in grid), wall]))
    return rooms


def search_rooms(rows: int, columns: int, every: int, epsilon: float) -> set[Outcome]:
    base = domains.create("sokoban")
    starts = [base.parse(room) for room in sokoban_rooms(rows, columns)[::every]]
    domain = base.for_grid(starts[0])
    results = solve_many(domain, starts, misleading(domain, "plausible", epsilon))
    return check(domain, starts, results)


def test_sokoban_rooms() -> None:
    assert search_rooms(3, 3, 41, 1e-3) == {Outcome.SOLVED, Outcome.UNSOLVABLE}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (2, 5), (1, 6), (3, 4)])
def test_all_sokoban_rooms(rows: int, columns: int, epsilon: float) -> None:
    assert search_rooms(rows, columns, 1, epsilon) == {Outcome.SOLVED, Outcome.UNSOLVABLE}


@pytest.mark.parametrize("epsilon", [1.0, 1e-3, 0.0])
def test_box_worlds_with_dead_ends(epsilon: float) -> None:
    domain = domains.create("box_world", size=6, goal_length=3, distractors=1)
    sampled = domain.sample(np.random.default_rng(3), 3)
    # Random walks end in solvable states and in dead ends.
    starts = list(sampled)
    rng = np.random.default_rng(4)
    for start in sampled:
        starts += list(replay(domain, start, rng.integers(4, size=400))[[150, 400]])
    starts = [start for start in starts if not domain.is_goal(start[None])[0]]
    expander = misleading(domain, "same_one", epsilon)
    results = solve_many(domain, starts, expander, evaluation="levin_ts")
    assert check(domain, starts, results) == {Outcome.SOLVED, Outcome.UNSOLVABLE}
    assert [result.solved for result in results].count(True) == 4


@pytest.mark.parametrize("epsilon", [1e-3, 0.0])
def test_tiny_tours(epsilon: float) -> None:
    domain = domains.create("tsp", size=4, cities=2)
    starts = list(domain.sample(np.random.default_rng(5), 4))
    results = solve_many(domain, starts, misleading(domain, "same_one", epsilon))
    assert check(domain, starts, results) == {Outcome.SOLVED}


@pytest.mark.slow
def test_three_by_three_puzzles_of_both_parities() -> None:
    """Sampled puzzles are solved; the others' whole half of the state space is searched."""
    domain = domains.create("sliding_tiles", height=3, width=3)
    solvable = list(domain.sample(np.random.default_rng(0), 20))
    unsolvable = []
    for start in solvable[:2]:
        swapped = start.copy().ravel()
        first, second = np.flatnonzero(swapped)[:2]
        swapped[[first, second]] = swapped[[second, first]]
        unsolvable.append(swapped.reshape(3, 3))
    expander = misleading(domain, "nothing")
    results = solve_many(domain, [*solvable, *unsolvable], expander, evaluation="levin_ts")
    assert [result.outcome for result in results[:20]] == [Outcome.SOLVED] * 20
    assert [result.outcome for result in results[20:]] == [Outcome.UNSOLVABLE] * 2
    assert results[20].statistics.expansions == 181_440


class ExactDistances:
    """The true distance of every 3×3 puzzle, by breadth-first search from the goal."""

    max_decrease = 1.0

    def __init__(self, domain: Domain) -> None:
        goal = np.arange(9, dtype=np.uint8).reshape(1, 3, 3)
        self.states, frontier, layers = goal, goal, [self._codes(goal)]
        while len(frontier):
            reached = domain.step(np.repeat(frontier, 4, axis=0), np.tile(range(4), len(frontier)))
            codes, first = np.unique(self._codes(reached), return_index=True)
            known = np.isin(codes, np.concatenate(layers[-2:]))
            frontier = reached[first[~known]]
            layers.append(codes[~known])
            self.states = np.concatenate([self.states, frontier])
        sizes = [len(layer) for layer in layers]
        order = np.argsort(np.concatenate(layers))
        self._sorted = np.concatenate(layers)[order]
        self._distances = np.repeat(np.arange(len(layers)), sizes)[order].astype(np.float64)

    @staticmethod
    def _codes(states: Grids) -> np.ndarray:
        return states.reshape(len(states), 9).astype(np.int64) @ 9 ** np.arange(9)

    def distances(self, states: Grids) -> np.ndarray:
        return self._distances[np.searchsorted(self._sorted, self._codes(states))]


@pytest.mark.slow
def test_every_solvable_three_by_three_puzzle() -> None:
    """All 181,440 puzzles of the solvable half, each by a search of its own."""
    domain = domains.create("sliding_tiles", height=3, width=3)
    exact = ExactDistances(domain)
    assert len(exact.states) == 181_440
    expander = dataclasses.replace(misleading(domain, "nothing"), heuristic=exact)
    results = solve_many(domain, exact.states, expander, evaluation="gbfs", batch=2048)
    lengths = exact.distances(exact.states)
    assert all(result.outcome is Outcome.SOLVED for result in results)
    assert [len(result.plan) for result in results] == lengths.astype(int).tolist()
    assert lengths.max() == 31
