from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.data import Demonstrations
from hips.data.dataset import (
    encode_actions,
    replay_plans,
    to_offsets,
    validation_split,
)
from hips.domains import replay
from hips.errors import ConfigError
from tests.toys import LineWorld

PLANS = st.lists(st.lists(st.integers(0, 1), max_size=12), min_size=1, max_size=8)


@given(plans=PLANS, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_lockstep_replay_equals_one_plan_at_a_time(plans: list[list[int]], seed: int) -> None:
    domain = LineWorld(holes=True)
    starts = domain.sample(np.random.default_rng(seed), len(plans))
    flat = np.array([action for plan in plans for action in plan], dtype=np.int64)
    offsets = to_offsets(np.array([len(plan) for plan in plans]))

    trajectories = replay_plans(domain, starts, encode_actions(flat, 2), offsets)

    assert len(trajectories) == len(plans)
    for i, plan in enumerate(plans):
        part = slice(trajectories.offsets[i], trajectories.offsets[i + 1])
        expected = replay(domain, starts[i], np.array(plan, dtype=np.int64))
        np.testing.assert_array_equal(trajectories.states[part], expected)
        assert trajectories.actions[part].tolist() == [*plan, -1]
        assert trajectories.remaining[part].tolist() == list(range(len(plan), -1, -1))
        assert set(trajectories.owners[part]) == {i}


def test_replay_leaves_the_starts_alone(dataset: Demonstrations) -> None:
    before = dataset.starts.copy()
    dataset.replay()
    np.testing.assert_array_equal(dataset.starts, before)


def test_every_trajectory_ends_at_its_first_goal(dataset: Demonstrations) -> None:
    trajectories = dataset.replay()
    goals = dataset.domain.is_goal(trajectories.states)
    np.testing.assert_array_equal(np.flatnonzero(goals), trajectories.offsets[1:] - 1)


def test_select_keeps_plans_with_their_starts(dataset: Demonstrations) -> None:
    chosen = np.array([17, 3, 250])
    part = dataset.select(chosen)
    for position, index in enumerate(chosen):
        np.testing.assert_array_equal(part.starts[position], dataset.starts[index])
        np.testing.assert_array_equal(part.plan(position), dataset.plan(int(index)))


def test_splits_are_disjoint_by_level_and_complete(dataset: Demonstrations) -> None:
    train, validation = dataset.split("train"), dataset.split("validation")
    assert len(train) + len(validation) == len(dataset.split("all")) == len(dataset)
    seen = {start.tobytes() for start in train.starts}
    assert seen.isdisjoint(start.tobytes() for start in validation.starts)
    assert len(validation) > 0


def test_split_of_an_unknown_name(dataset: Demonstrations) -> None:
    with pytest.raises(ConfigError, match="train, validation, all"):
        dataset.split("test")  # type: ignore[arg-type]


def test_validation_share_is_about_a_twentieth() -> None:
    starts = np.random.default_rng(0).integers(0, 5, size=(4000, 4, 4), dtype=np.uint8)
    assert 0.035 < validation_split(starts).mean() < 0.065


def test_validation_choice_hangs_on_the_level_alone() -> None:
    starts = np.random.default_rng(0).integers(0, 5, size=(1000, 4, 4), dtype=np.uint8)
    np.testing.assert_array_equal(validation_split(starts)[500:], validation_split(starts[500:]))


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_is_held_out_of_a_single_level(count: int) -> None:
    assert not validation_split(np.ones((count, 2, 2), dtype=np.uint8)).any()


def test_two_levels_have_one_for_validation() -> None:
    starts = np.stack([np.zeros((2, 2), np.uint8), np.ones((2, 2), np.uint8)])
    assert validation_split(starts).sum() == 1


def test_many_actions_need_wider_codes() -> None:
    assert encode_actions(np.array([255]), 256).dtype == np.uint8
    assert encode_actions(np.array([256]), 300).tolist() == [256]
