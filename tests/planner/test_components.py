"""From components and settings to an expander."""

from __future__ import annotations

from typing import Any

import pytest

from hips.errors import ConfigError, ModelError
from hips.planner.components import Components, make_expander
from hips.planner.generators import RepeatAction
from hips.planner.policies import NearestStepPolicy, StateHeuristic, UniformPolicy
from hips.planner.protocols import DynamicsMode
from hips.planner.rollouts import RolloutLimits
from hips.planner.settings import Settings

from .worlds import LyingModel, TinyTiles

TILES = TinyTiles()
TWO = StateHeuristic(lambda state: 2.0)


@pytest.mark.parametrize(("asked", "expected"), [(3.0, 6.0), (None, 2.0), (0.5, 1.0)])
def test_the_weight_multiplies_the_heuristic(asked: float | None, expected: float) -> None:
    settings = Settings(heuristic_weight=asked)
    heuristic = make_expander(TILES, Components(heuristic=TWO), settings).heuristic
    assert heuristic is not None
    assert heuristic.distances(TILES.all_states()[:1]).tolist() == [expected]


def test_settings_decide_how_rollouts_go() -> None:
    settings = Settings(horizon=7, chunk_confidence=0.5, min_reach_probability=0.0)
    expander = make_expander(TILES, Components(heuristic=TWO), settings)
    assert expander.limits == RolloutLimits(7, 0.5, 0.0)
    plain = make_expander(TILES, Components(heuristic=TWO), Settings())
    assert plain.limits == RolloutLimits(TILES.preset.horizon, 0.95, 0.2)


@pytest.mark.parametrize("epsilon", [1.0, 0.25, 0.0])
def test_epsilon_reaches_the_expander(epsilon: float) -> None:
    components = Components(RepeatAction(TILES), heuristic=TWO)
    assert make_expander(TILES, components, Settings(epsilon=epsilon)).epsilon == epsilon


def test_subgoals_actions_or_both() -> None:
    generator, reach = RepeatAction(TILES), NearestStepPolicy(TILES)
    components = Components(generator, reach, heuristic=TWO)
    both = make_expander(TILES, components, Settings())
    assert (both.generator, both.reach_policy) == (generator, reach)
    assert both.action_policy == UniformPolicy(4)
    jumps = make_expander(TILES, components, Settings(), actions=False)
    assert jumps.action_policy is None
    assert not jumps.complete
    single = make_expander(TILES, components, Settings(), subgoals=False)
    assert single.generator is None
    assert single.epsilon == 1.0


@pytest.mark.parametrize("mode", list(DynamicsMode))
def test_dynamics_that_are_learned_are_needed(mode: DynamicsMode) -> None:
    settings = Settings(dynamics=mode.value)
    model = LyingModel(TILES, 0.0)
    found = make_expander(TILES, Components(heuristic=TWO, dynamics=model), settings)
    assert found.mode is mode
    if mode is not DynamicsMode.TRUE:
        with pytest.raises(ConfigError, match=f"'{mode.value}' needs a model"):
            make_expander(TILES, Components(heuristic=TWO), settings)


def test_an_evaluation_that_needs_a_heuristic_says_so() -> None:
    with pytest.raises(ModelError, match="'gbfs' needs a heuristic"):
        make_expander(TILES, Components(), Settings(evaluation="gbfs"))
    assert make_expander(TILES, Components(), Settings(evaluation="levin_ts")).heuristic is None


def test_components_are_replaced_one_by_one() -> None:
    generator: Any = RepeatAction(TILES)
    found = Components(heuristic=TWO).overridden(generator=generator, heuristic=None)
    assert found == Components(generator, heuristic=TWO)
