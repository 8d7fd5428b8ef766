"""The mathematics of segmentations, against definitions by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips.arrays import Floats, Grids, Ints
from hips.data.dataset import Trajectories
from hips.seeding import stream
from hips.training import segments
from hips.training.lazy_segments import Objective, segment_lazily
from hips.training.segments import (
    best_chain,
    best_segmentation,
    discounted_returns,
    follow_chain,
    likeliest_following,
    mean_objective,
    mean_segment,
    pair_log_pi,
    pair_scores,
    segment_rewards,
)


def test_a_chain_covers_its_trajectory() -> None:
    following = np.array([2, 3, 4, 4, 4, 6, 6])
    ends, is_start = follow_chain(following, np.array([0, 5, 7]))
    assert ends.tolist() == [2, 2, 4, 4, 4, 6, 6]
    assert is_start.tolist() == [1, 0, 1, 0, 0, 1, 0]
    assert mean_segment(following, np.array([0, 5, 7])) == 5 / 3


@given(st.integers(1, 7), st.integers(1, 4), st.floats(0.0, 3.0), st.integers(0, 10_000))
def test_dynamic_programming_is_exact(steps: int, horizon: int, penalty: float, seed: int) -> None:
    log_pi = -stream(seed, "log pi").exponential(size=(steps + 1, horizon))
    offsets = np.array([0, steps + 1])
    following, value = best_segmentation(log_pi, offsets, penalty)
    best = max(
        _objective(log_pi, cuts, steps, horizon, penalty)
        for count in range(steps)
        for cuts in itertools.combinations(range(1, steps), count)
    )
    assert np.isclose(value[0], best)
    assert np.isclose(mean_objective(log_pi, following, offsets, penalty), best)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 5),
    st.floats(0.0, 3.0),
    st.floats(0.01, 2.0),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.integers(0, 10_000),
)
def test_scoring_few_pairs_finds_the_same_segmentation(
    sizes: list[int], horizon: int, penalty: float, scale: float, tolerance: float, seed: int
) -> None:
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    log_pi = -stream(seed, "log pi").exponential(scale, size=(offsets[-1], horizon))
    asked: list[tuple[int, int]] = []

    def score(rows: Ints, subgoals: Ints) -> Floats:
        asked.extend(zip(rows.tolist(), subgoals.tolist(), strict=True))
        return log_pi[rows, subgoals - rows - 1]

    found = segment_lazily(Objective(score, penalty, tolerance), offsets, horizon)
    following, value = best_segmentation(log_pi, offsets, penalty, tolerance)
    assert np.allclose(found.value, value)
    assert found.following.tolist() == following.tolist()
    assert found.scored == len(asked) == len(set(asked))


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 5),
    st.floats(0.01, 2.0),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.integers(0, 10_000),
)
def test_what_else_segments_are_worth_is_asked_where_it_matters(
    sizes: list[int], horizon: int, scale: float, tolerance: float, seed: int
) -> None:
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rng = stream(seed, "worth")
    log_pi = -rng.exponential(scale, size=(offsets[-1], horizon))
    extra = -rng.exponential(0.5, size=(offsets[-1], horizon))
    asked: list[tuple[int, int]] = []

    def score(rows: Ints, subgoals: Ints) -> Floats:
        return log_pi[rows, subgoals - rows - 1]

    def more(rows: Ints, subgoals: Ints) -> Floats:
        asked.extend(zip(rows.tolist(), subgoals.tolist(), strict=True))
        return extra[rows, subgoals - rows - 1]

    found = segment_lazily(Objective(score, 0.3, tolerance, more), offsets, horizon)
    following, value = best_chain(segment_rewards(log_pi, offsets, 0.3) + extra, offsets, tolerance)
    assert np.allclose(found.value, value)
    assert found.following.tolist() == following.tolist()
    assert len(asked) == len(set(asked))


@given(st.integers(2, 12), st.floats(0.01, 0.5), st.integers(0, 10_000))
def test_a_tolerance_takes_the_farthest_of_nearly_equal_subgoals(
    steps: int, tolerance: float, seed: int
) -> None:
    log_pi = -stream(seed, "log pi").exponential(0.1, size=(steps + 1, 4))
    offsets = np.array([0, steps + 1])
    best, value = best_segmentation(log_pi, offsets, 0.1)
    following, kept = best_segmentation(log_pi, offsets, 0.1, tolerance)
    assert (kept == value).all()
    assert (following >= best).all()
    rewards = segment_rewards(log_pi, offsets, 0.1)
    for state in range(steps):
        worth = [
            rewards[state, end - state - 1] + value[end]
            for end in range(state + 1, min(state + 4, steps) + 1)
        ]
        chosen = following[state] - state - 1
        assert worth[chosen] >= value[state] - tolerance - 1e-9
        assert all(one < value[state] - tolerance + 1e-9 for one in worth[chosen + 1 :])


def test_pairs_that_cannot_matter_are_not_scored() -> None:
    """Far subgoals explain nothing here, so only the nearest of the 20 are asked about."""
    offsets, horizon = np.array([0, 101]), 20

    def score(rows: Ints, subgoals: Ints) -> Floats:
        return -1.0 * (subgoals - rows - 1)

    found = segment_lazily(Objective(score, 0.01), offsets, horizon)
    assert (np.diff(found.following[:-1]) == 1).all()
    assert found.scored < 3 * 100


def _objective(
    log_pi: np.ndarray, cuts: tuple[int, ...], steps: int, horizon: int, penalty: float
) -> float:
    bounds = [0, *cuts, steps]
    total = 0.0
    for start, end in itertools.pairwise(bounds):
        if end - start > horizon:
            return -np.inf
        total += sum(log_pi[t, end - t - 1] for t in range(start, end)) - penalty
    return total


def test_segments_earn_their_actions_less_the_penalty() -> None:
    log_pi = np.array([[-1.0, -2.0], [-4.0, -np.inf], [-np.inf, -np.inf]])
    rewards = segment_rewards(log_pi, np.array([0, 3]), 0.5)
    # To the next state; over two states: both actions towards the same subgoal.
    assert rewards[0].tolist() == [-1.5, -2.0 - 4.0 - 0.5]
    assert rewards[1, 0] == -4.5


def test_returns_are_discounted_per_segment() -> None:
    rewards = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 0.0], [0.0, 0.0]])
    chosen = np.array([[0, 1], [1, 0], [0, 0], [0, 0]])
    returns = discounted_returns(rewards, chosen, np.array([0, 4]), 0.5)
    assert returns[0].tolist() == [1.0 + 0.5 * 7.0, 5.0 + 0.5 * 3.0]
    assert returns[1].tolist() == [7.0, 2.0 + 0.5 * 3.0]


def test_every_pair_of_near_states_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are numbered; the planted policy says which pair it was asked about."""
    monkeypatch.setattr(segments, "PAIRS_AT_ONCE", 4)
    asked: list[tuple[int, int]] = []

    def planted(states: Grids, subgoals: Grids) -> Floats:
        pairs = [(int(s), int(g)) for s, g in zip(states[:, 0, 0], subgoals[:, 0, 0], strict=True)]
        asked.extend(pairs)
        return np.array([[-(10.0 * s + g), -100.0 - (10.0 * s + g)] for s, g in pairs])

    states = np.arange(7, dtype=np.uint8).reshape(7, 1, 1)
    actions = np.array([0, 1, 0, -1, 1, 0, -1])
    found = pair_log_pi(planted, Trajectories(states, actions, np.array([0, 4, 7])), 2)
    expected = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (4, 5), (4, 6), (5, 6)]
    assert sorted(asked) == expected
    for state, subgoal in expected:
        value = -(10.0 * state + subgoal) - (100.0 if actions[state] == 1 else 0.0)
        assert found[state, subgoal - state - 1] == value
    assert np.isinf(found).sum() == found.size - len(expected)


def test_the_likeliest_subgoal_is_that_of_a_slow_search() -> None:
    table = stream(3, "scores").normal(size=(12, 12))
    offsets, horizon = np.array([0, 6, 7, 12]), 3
    scores = pair_scores(lambda states, subgoals: table[states, subgoals], offsets, horizon)
    found = likeliest_following(scores, offsets)
    for first, stop in itertools.pairwise(offsets.tolist()):
        for i in range(first, stop - 1):
            near = range(i + 1, min(i + horizon, stop - 1) + 1)
            assert found[i] == max(near, key=lambda j: table[i, j])
        assert found[stop - 1] == stop - 1
