"""The rules of the sliding tiles, against a naive reference and by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Grid, create, names
from hips.domains._assignment import assign
from hips.domains.sliding_tiles import SlidingTiles
from hips.errors import ConfigError, LevelError
from hips.seeding import stream
from tests.domains.reference import compare_on_walks, enumerate_states

MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
sides = st.integers(2, 6)


def naive_step(state: Grid, action: str) -> Grid:
    """Swaps the blank with its neighbour, from a dictionary of cells."""
    cells = {(r, c): int(state[r, c]) for r in range(len(state)) for c in range(len(state[0]))}
    blank = next(cell for cell, symbol in cells.items() if symbol == 0)
    target = (blank[0] + MOVES[action][0], blank[1] + MOVES[action][1])
    if target in cells:
        cells[blank], cells[target] = cells[target], 0
    return np.array(list(cells.values()), dtype=np.uint8).reshape(state.shape)


def naive_is_goal(state: Grid) -> bool:
    return state.ravel().tolist() == list(range(state.size))


def all_permutations(domain: SlidingTiles) -> Grid:
    size = domain.height * domain.width
    grids = np.array(list(permutations(range(size))), dtype=np.uint8)
    return grids.reshape(-1, domain.height, domain.width)


def goal(domain: SlidingTiles) -> Grid:
    return np.arange(domain.height * domain.width, dtype=np.uint8).reshape(domain.spec.shape)


def test_is_registered_as_the_24_puzzle() -> None:
    assert "sliding_tiles" in names()
    assert create("sliding_tiles").spec.shape == (5, 5)
    assert create("sliding_tiles").spec.num_symbols == 25


@settings(max_examples=20, deadline=None)
@given(height=sides, width=sides, seed=st.integers(0, 2**32))
def test_kernels_agree_with_the_reference_on_walks(height: int, width: int, seed: int) -> None:
    compare_on_walks(SlidingTiles(height, width), naive_step, naive_is_goal, seed, length=30)


@pytest.mark.parametrize(("height", "width", "count"), [(2, 2, 12), (2, 3, 360), (3, 2, 360)])
def test_half_of_the_permutations_reach_the_goal(height: int, width: int, count: int) -> None:
    domain = SlidingTiles(height, width)
    reachable = enumerate_states(domain, goal(domain), naive_step)
    assert len(reachable) == count
    keys = {state.tobytes() for state in reachable}
    everything = all_permutations(domain)
    expected = [state.tobytes() in keys for state in everything]
    assert domain.solvable(everything).tolist() == expected
    origins = np.repeat(goal(domain)[None], len(everything), axis=0)
    assert domain.is_legal(everything, origins).tolist() == expected


@pytest.mark.slow
def test_the_whole_eight_puzzle_agrees_with_the_reference() -> None:
    domain = SlidingTiles(3, 3)
    states = enumerate_states(domain, goal(domain), naive_step, limit=200_000)
    assert len(states) == 181_440
    assert domain.solvable(states).all()
    assert domain.is_goal(states).sum() == 1


def test_actions_name_the_direction_of_the_blank() -> None:
    domain = SlidingTiles(3, 3)
    state = domain.parse("1 2 3 4 0 5 6 7 8")
    after = {
        name: domain.text(domain.step(state[None], domain.spec.action_indices([name]))[0])
        for name in domain.spec.actions
    }
    assert after == {
        "up": "1 0 3 4 2 5 6 7 8",
        "right": "1 2 3 4 5 0 6 7 8",
        "down": "1 2 3 4 7 5 6 0 8",
        "left": "1 2 3 0 4 5 6 7 8",
    }


def test_what_is_no_permutation_is_neither_legal_nor_solvable() -> None:
    domain = SlidingTiles(2, 2)
    bad = np.array([[[0, 1], [1, 3]], [[1, 2], [3, 3]], [[0, 1], [2, 9]]], dtype=np.uint8)
    assert not domain.is_legal(bad, np.repeat(goal(domain)[None], 3, axis=0)).any()
    assert not domain.solvable(bad).any()


def test_samples_are_uniform_over_the_solvable_half() -> None:
    domain = SlidingTiles(2, 2)
    drawn = domain.sample(stream(3, "uniform"), 11_000)
    _, counts = np.unique(drawn.reshape(-1, 4), axis=0, return_counts=True)
    assert len(counts) == 11  # all twelve but the goal
    chi_square = ((counts - 1000) ** 2 / 1000).sum()
    assert chi_square < 35  # 10 degrees of freedom: p about 1e-4


def test_decoding_finds_the_best_assignment() -> None:
    rng = stream(0, "assignment")
    orders = np.array(list(permutations(range(6))))
    for _ in range(30):
        gains = rng.normal(size=(6, 6))
        totals = gains[np.arange(6), orders].sum(axis=1)
        np.testing.assert_array_equal(assign(gains), orders[totals.argmax()])


def test_decoding_gives_legal_grids_and_keeps_legal_ones() -> None:
    domain = SlidingTiles()
    rng = stream(0, "decode")
    states, origins = domain.sample(rng, 40), domain.sample(rng, 40)
    noise = rng.normal(size=(40, 5, 5, 25)).astype(np.float32)
    assert domain.is_legal(domain.decode(noise, origins), origins).all()
    sure = np.eye(25, dtype=np.float32)[states]
    np.testing.assert_array_equal(domain.decode(sure, origins), states)
    swapped = states.copy()
    swapped[:, 0, 0], swapped[:, 4, 4] = states[:, 4, 4], states[:, 0, 0]
    unreachable = ~domain.is_legal(swapped, origins)
    assert unreachable.any()
    mended = domain.decode(np.eye(25, dtype=np.float32)[swapped], origins)
    assert domain.is_legal(mended, origins).all()
    assert ((mended != swapped).sum(axis=(1, 2))[unreachable] == 2).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_decoding_survives_scores_that_are_not_finite(value: float) -> None:
    domain = SlidingTiles(3, 3)
    origins = domain.sample(stream(0, "bad scores"), 4)
    scores = np.full((4, 3, 3, 9), value, dtype=np.float32)
    assert domain.is_legal(domain.decode(scores, origins), origins).all()


def test_only_squares_can_be_transposed() -> None:
    assert len(SlidingTiles(4, 4).symmetries()) == 1
    assert SlidingTiles(3, 4).symmetries() == ()


@pytest.mark.parametrize(
    "parameters", [{"height": 1}, {"width": 7}, {"height": 2.5}, {"width": -3}]
)
def test_other_sizes_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="2 to 6"):
        SlidingTiles(**parameters)


def test_a_level_brings_its_own_size() -> None:
    domain = SlidingTiles()
    assert domain.for_grid(goal(domain)) is domain
    assert domain.for_grid(goal(SlidingTiles(3, 3))) == SlidingTiles(3, 3)
    with pytest.raises(LevelError):
        domain.for_grid(np.zeros((7, 7), dtype=np.uint8))


def test_pictures_have_the_promised_shape_and_show_every_tile() -> None:
    domain = SlidingTiles()
    picture = domain.render(goal(domain), cell=24)
    assert picture.shape == (120, 120, 3)
    assert picture.dtype == np.uint8
    tiles = picture.reshape(5, 24, 5, 24, 3).swapaxes(1, 2).reshape(25, -1)
    assert len(np.unique(tiles, axis=0)) == 25


def test_small_tiles_show_their_whole_number() -> None:
    domain = create("sliding_tiles")
    tiles = {
        domain.render(np.array([[n, 0]], dtype=np.uint8), 8)[:, :8].tobytes() for n in range(25)
    }
    assert len(tiles) == 25
