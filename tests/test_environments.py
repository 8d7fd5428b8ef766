"""The Gymnasium environments: Gymnasium's own checker, seeding, fixed levels, pictures."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hips import domains
from hips.domains import create
from hips.environments import PuzzleEnv, register_environments
from hips.errors import ConfigError, LevelError
from hips.seeding import stream

IDS = ("hips/Sokoban-v0", "hips/SlidingTiles-v0", "hips/BoxWorld-v0", "hips/TSP-v0")
SMALL = {
    "hips/Sokoban-v0": {"height": 8, "width": 8, "boxes": 2},
    "hips/SlidingTiles-v0": {"height": 3, "width": 3},
    "hips/BoxWorld-v0": {"size": 8},
    "hips/TSP-v0": {"size": 10, "cities": 5},
}


def domain_name(environment: str) -> str:
    return str(gymnasium.spec(environment).kwargs["domain"])


def test_the_four_are_registered() -> None:
    assert set(IDS) <= set(register_environments())


@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
@pytest.mark.parametrize("environment", IDS)
def test_gymnasiums_checker_passes_without_a_warning(
    environment: str, render_mode: str | None
) -> None:
    made = gymnasium.make(environment, render_mode=render_mode, **SMALL[environment])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made.unwrapped)


@pytest.mark.parametrize("environment", IDS)
def test_seeds_decide_the_levels(environment: str) -> None:
    one, two = (gymnasium.make(environment, **SMALL[environment]) for _ in range(2))
    first, second = one.reset(seed=7)[0], one.reset()[0]
    assert (first != second).any()
    np.testing.assert_array_equal(first, two.reset(seed=7)[0])
    np.testing.assert_array_equal(second, two.reset()[0])


@pytest.mark.parametrize("environment", IDS)
def test_an_expert_plan_earns_one_reward_at_the_end(environment: str) -> None:
    made = gymnasium.make(environment, **SMALL[environment])
    state, _ = made.reset(seed=1)
    plan = made.unwrapped.domain.expert(state, stream(0, "plan"))
    outcomes = [made.step(action)[1:4] for action in plan]
    assert outcomes[-1] == (1.0, True, False)
    assert all(outcome == (0.0, False, False) for outcome in outcomes[:-1])


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("environment", IDS)
def test_a_fixed_level_starts_every_episode(environment: str, as_text: bool) -> None:
    domain = create(domain_name(environment), **SMALL[environment])
    level = domain.sample(stream(3, "level"), 1)[0]
    given = domain.text(level) if as_text else level
    made = gymnasium.make(environment, level=given, render_mode="ansi", **SMALL[environment])
    for seed in (0, 1):
        np.testing.assert_array_equal(made.reset(seed=seed)[0], level)
        assert made.render() == domain.text(level)
        made.step(made.action_space.sample())


@pytest.mark.parametrize("environment", IDS)
def test_pictures(environment: str) -> None:
    made = gymnasium.make(environment, render_mode="rgb_array", **SMALL[environment])
    state, info = made.reset(seed=0)
    assert made.render().shape == (state.shape[0] * 32, state.shape[1] * 32, 3)
    assert info["actions"] == made.unwrapped.domain.spec.actions


def test_a_level_of_another_size_sets_the_spaces() -> None:
    text = create("box_world", size=9, goal_length=3).export(
        list(create("box_world", size=9, goal_length=3).sample(stream(0, "x"), 1)), "text"
    )
    assert PuzzleEnv("box_world", level=text, size=5).observation_space.shape == (11, 11)


def test_a_domain_of_ones_own() -> None:
    made = PuzzleEnv(create("box_world", size=8), render_mode="ansi")
    made.reset(seed=0)
    assert len(made.render().splitlines()) == 10


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"render_mode": "human"}, ConfigError),
        ({"colour": 3}, ConfigError),
        ({"variant": "none"}, ConfigError),
        ({"level": "nonsense"}, LevelError),
        ({"level": np.zeros((3, 4, 5), dtype=np.uint8)}, LevelError),
        ({"level": np.full((14, 14), 200)}, LevelError),
        ({"level": np.full((14, 14), 0.5)}, LevelError),
    ],
)
def test_bad_parameters(parameters: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        PuzzleEnv("box_world", **parameters)


def test_misuse() -> None:
    with pytest.raises(ConfigError, match="need a domain's name"):
        PuzzleEnv(domains.create("box_world"), size=8)
    made = PuzzleEnv("box_world")
    with pytest.raises(ConfigError, match="reset"):
        made.step(0)
    made.reset(seed=0)
    with pytest.raises(ConfigError, match="Action 9"):
        made.step(9)
