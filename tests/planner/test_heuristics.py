"""h: computed where it matters, clamped where it is mad, and as simple to write as one method."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hips.domains import Grid, Grids
from hips.planner.budget import Budget
from hips.planner.policies import StateHeuristic, WeightedHeuristic, weighted
from hips.planner.protocols import Heuristic, calls_of, max_decrease_of
from hips.planner.search import solve

from .expanders import Recording, low_level, misleading
from .test_search import SEARCHED
from .worlds import TinyTiles, random_graph


def misplaced(state: Grid) -> float:
    """How many cells are not as in the goal; one move changes it by 1 at most, the blank aside."""
    tiles = state.ravel()
    return float(((tiles != np.arange(tiles.size)) & (tiles != 0)).sum())


@dataclasses.dataclass(frozen=True)
class Counting:
    """A heuristic whose calls are counted."""

    inner: StateHeuristic
    calls: int = 1

    @property
    def max_decrease(self) -> float | None:
        return self.inner.max_decrease

    def distances(self, states: Grids) -> np.ndarray:
        return self.inner.distances(states)


class Plain:
    """All that a heuristic needs."""

    def distances(self, states: Grids) -> np.ndarray:
        return np.array([misplaced(state) for state in states])


@pytest.mark.parametrize("evaluation", ["phs_hat", "phs_star", "depth", "astar", "gbfs"])
def test_distances_of_unlikely_actions_are_computed_only_when_they_matter(evaluation: str) -> None:
    """With an h that an action lowers by at most 1, the same search computes it less often."""
    domain = TinyTiles()
    epsilon = 0.0 if evaluation in ("astar", "gbfs") else 0.01
    counts: dict[float | None, int] = {None: 0, 1.0: 0}
    for start in domain.all_states()[3:700:41]:
        expanded = []
        for max_decrease in counts:
            computed = Counting(StateHeuristic(misplaced, max_decrease))
            recording = Recording(misleading(domain, "plausible", epsilon, heuristic=computed))
            budget = Budget(max_expansions=60)
            result = solve(domain, start, recording, evaluation=evaluation, budget=budget)
            counts[max_decrease] += result.statistics.network_rows
            expanded.append((result.plan, np.concatenate(recording.states).tobytes()))
        assert expanded[0] == expanded[1]
    assert counts[1.0] < counts[None]


def test_a_heuristic_needs_nothing_but_distances() -> None:
    domain = TinyTiles()
    start = domain.all_states()[77 * 4]
    heuristics: list[Heuristic | None] = [Plain(), WeightedHeuristic(Plain(), 2.0), None]
    results = [
        solve(domain, start, low_level(domain, heuristic=heuristic), evaluation="astar")
        for heuristic in heuristics
    ]
    assert len({result.outcome for result in results}) == 1
    assert results[0].solved
    assert [result.statistics.network_rows for result in results] == [0, 0, 0]
    assert results[0].length == results[2].length
    expansions = [result.statistics.expansions for result in results]
    assert expansions[1] <= expansions[0] < expansions[2]


def test_a_weight_multiplies_h_and_what_it_promises() -> None:
    states = TinyTiles().all_states()[5:9]
    inner = Counting(StateHeuristic(misplaced, 1.0), calls=3)
    heavy = weighted(inner, 2.5)
    assert heavy is not None
    np.testing.assert_array_equal(heavy.distances(states), 2.5 * inner.distances(states))
    assert (calls_of(heavy), max_decrease_of(heavy)) == (3, 2.5)
    assert (calls_of(Plain()), max_decrease_of(Plain())) == (0, None)
    assert max_decrease_of(WeightedHeuristic(Plain(), 2.0)) is None
    assert weighted(inner, 1.0) is inner
    assert weighted(None, 2.0) is None


@pytest.mark.parametrize("value", [np.nan, -3.0, np.inf])
def test_a_mad_heuristic_is_clamped_and_counted(
    value: float, caplog: pytest.LogCaptureFixture
) -> None:
    for solvable in (True, False):
        world = random_graph(5, solvable=solvable)
        expander = low_level(world, heuristic=StateHeuristic(lambda state: value))
        for evaluation in SEARCHED:
            result = solve(world, world.grid(0), expander, evaluation=evaluation)
            assert result.solved == solvable
            if evaluation != "levin_ts" and not solvable:
                assert result.statistics.clamped > 0
    assert ("The heuristic returned NaN" in caplog.text) == np.isnan(value)
