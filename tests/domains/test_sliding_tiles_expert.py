"""Plans for the sliding tiles: they solve, they are short, and they can be made worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import replay
from hips.domains.sliding_tiles import SlidingTiles, expert
from hips.domains.sliding_tiles.construct import construct
from hips.domains.sliding_tiles.estimates import estimate, estimate_change, tables
from hips.domains.sliding_tiles.kernels import COLUMN_STEP, ROW_STEP, find_blank
from hips.errors import ExpertError
from hips.seeding import stream
from tests.domains.reference import enumerate_states, goal_distances
from tests.domains.test_sliding_tiles import all_permutations, goal, naive_step

sides = st.integers(2, 6)


@settings(max_examples=25, deadline=None)
@given(
    height=sides, width=sides, seed=st.integers(0, 2**32), quality=st.sampled_from([0.0, 0.6, 1.0])
)
def test_every_plan_solves(height: int, width: int, seed: int, quality: float) -> None:
    domain = SlidingTiles(height, width)
    rng = stream(seed, "expert")
    state = domain.sample(rng, 1)[0]
    plan = domain.expert(state, rng, quality)
    assert domain.is_goal(replay(domain, state, plan)[-1:])[0]


@pytest.mark.parametrize(("height", "width"), [(2, 2), (2, 3)])
def test_small_puzzles_are_solved_optimally(height: int, width: int) -> None:
    domain = SlidingTiles(height, width)
    states = enumerate_states(domain, goal(domain), naive_step)
    optimal = goal_distances(domain, states)
    for state in states:
        assert len(domain.expert(state, stream(0, "optimal"))) == optimal[state.tobytes()]


def test_the_best_quality_is_deterministic_and_short() -> None:
    domain = SlidingTiles()
    states = domain.sample(stream(5, "short"), 12)
    plans = [domain.expert(state, stream(0, "a")) for state in states]
    again = [domain.expert(state, stream(1, "b")) for state in states]
    for plan, other in zip(plans, again, strict=True):
        np.testing.assert_array_equal(plan, other)
    assert np.mean([len(plan) for plan in plans]) <= 125


def test_quality_decides_the_length() -> None:
    domain = SlidingTiles(4, 4)
    states = domain.sample(stream(6, "quality"), 30)
    rng = stream(0, "quality draws")
    means = [
        np.mean([len(domain.expert(state, rng, quality)) for state in states])
        for quality in (1.0, 0.5, 0.0)
    ]
    assert 1.3 * means[0] < means[1] < means[2] / 1.2
    assert 2 * means[0] < means[2] < 4 * means[0]


def test_a_beam_that_runs_dry_falls_back_to_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = SlidingTiles(4, 4)
    state = domain.sample(stream(1, "dry"), 1)[0]
    monkeypatch.setattr(expert, "beam_search", lambda *_: np.array([-1]))
    plan = domain.expert(state, stream(0, "dry"))
    np.testing.assert_array_equal(plan, construct(state.ravel(), 4, 4))
    assert domain.is_goal(replay(domain, state, plan)[-1:])[0]


@pytest.mark.parametrize("quality", [0.0, 1.0])
def test_the_unsolvable_half_is_refused(quality: float) -> None:
    domain = SlidingTiles(2, 3)
    unsolvable = all_permutations(domain)
    unsolvable = unsolvable[~domain.solvable(unsolvable)]
    for state in unsolvable[::40]:
        with pytest.raises(ExpertError, match="parity"):
            domain.expert(state, stream(0, "parity"), quality)


def test_a_solved_puzzle_needs_no_moves() -> None:
    domain = SlidingTiles()
    assert len(domain.expert(goal(domain), stream(0, "solved"))) == 0


@settings(max_examples=25, deadline=None)
@given(height=sides, width=sides, seed=st.integers(0, 2**32))
def test_the_incremental_estimate_is_the_estimate(height: int, width: int, seed: int) -> None:
    rng = stream(seed, "estimate")
    table = tables(height, width)
    cells = SlidingTiles(height, width).sample(rng, 1)[0].ravel()
    for action in rng.integers(4, size=40):
        blank = int(find_blank(cells))
        row, column = blank // width + ROW_STEP[action], blank % width + COLUMN_STEP[action]
        if not (0 <= row < height and 0 <= column < width):
            continue
        target = int(row * width + column)
        before = estimate(cells, width, table)
        change = estimate_change(cells, blank, target, width, table)
        cells[blank], cells[target] = cells[target], 0
        assert estimate(cells, width, table) == before + change
    solved = np.arange(height * width, dtype=np.uint8)
    assert estimate(solved, width, table) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("height", "width"), [(2, 6), (6, 2), (3, 3), (4, 5), (5, 5), (6, 6)])
def test_line_by_line_never_fails(height: int, width: int) -> None:
    domain = SlidingTiles(height, width)
    for state in domain.sample(stream(2, "construct"), 1_000):
        plan = construct(state.ravel(), height, width)
        assert domain.is_goal(replay(domain, state, plan)[-1:])[0]


@pytest.mark.slow
def test_no_uniform_24_puzzle_defeats_the_beam() -> None:
    domain = SlidingTiles()
    lengths = [
        len(domain.expert(state, stream(0, "beam")))
        for state in domain.sample(stream(7, "beam"), 500)
    ]
    assert np.mean(lengths) <= 120
    assert max(lengths) <= 160
