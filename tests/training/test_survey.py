"""What a look at a domain finds, and which networks it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hips import data, domains, parts
from hips.arrays import Actions
from hips.domains import Bools, Grid, Grids, GridSpec, ScalarDomain
from hips.errors import ConfigError, ExpertError
from hips.parts.blocks.config import suitable_trunk
from hips.training.recipes import configure
from hips.training.survey import Survey, suggested, take_survey
from tests.toys import LineWorld


@domains.register("swaps")
@dataclass(frozen=True)
class Swaps(ScalarDomain):
    """Swap the two ends of a line, or rotate all of it, until it is sorted."""

    length: int = 6

    @property
    def spec(self) -> GridSpec:
        return GridSpec(1, self.length, tuple("abcdefghij"[: self.length]), ("swap", "rotate"))

    def step_one(self, state: Grid, action: int) -> Grid:
        if action == 0:
            state[0, [0, -1]] = state[0, [-1, 0]]
            return state
        return np.roll(state, 1, axis=1)

    def is_goal(self, states: Grids) -> Bools:
        solved: Bools = (np.diff(states.astype(int), axis=2) > 0).all(axis=(1, 2))
        return solved

    def sample_one(self, rng: np.random.Generator) -> Grid:
        return rng.permutation(self.length).astype(np.uint8)[None]


class Stuck(Swaps):
    """No action does anything."""

    def step_one(self, state: Grid, action: int) -> Grid:
        return state

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        return np.zeros(1, dtype=np.int64)


class Unsolved(Swaps):
    """Nobody knows how to solve it."""

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        raise ExpertError("too hard")


def test_distant_swaps_get_dense_layers_that_copy() -> None:
    domain = Swaps()
    survey = take_survey(domain)
    assert survey.permuting == 1.0
    assert survey.far > 0.9
    trunk = suitable_trunk(domain.spec, "laptop", survey)
    assert trunk.mixing
    assert trunk.copies
    assert "dense layers over all cells, because" in survey.reason(True)
    config = configure(domain, parts.known(), (), "laptop", 0, None, (), (), survey)
    assert all(config.parts[name].trunk.mixing for name in config.parts)
    assert config.horizon == survey.horizon() == config.parts["reach_policy"].chunk
    assert config.parts["subgoals"].num_codes == config.parts["prior"].num_codes


def test_the_choice_can_be_overridden() -> None:
    domain = Swaps()
    plain = ["subgoals.trunk.mixing=false", "subgoals.trunk.copies=false"]
    config = configure(domain, parts.known(), (), "smoke", 0, None, plain, (), take_survey(domain))
    assert not config.parts["subgoals"].trunk.mixing
    assert config.parts["prior"].trunk.mixing


def test_steps_of_one_cell_get_convolutions() -> None:
    domain = LineWorld()
    survey = take_survey(domain)
    assert survey.far == 0.0
    assert survey.changed == 2.0
    assert not suitable_trunk(domain.spec, "laptop", survey).mixing
    assert survey.reason(False).startswith("convolutions, because 0% of actions")
    assert suggested(domain, survey) == domain.preset  # its author's word counts


def test_grids_too_large_for_dense_layers_get_convolutions() -> None:
    far = Survey(1.0, 9.0, 1.0, 1.0, 20.0, (4.0,))
    wide = GridSpec(20, 20, ("a", "b"), ("go",))
    assert not suitable_trunk(wide, "laptop", far).mixing


@pytest.mark.parametrize(
    ("length", "ways", "horizon", "codes"),
    [
        (11.0, (6.0, 27.0, 109.0), 3, 128),
        (3.0, (4.0, 9.0), 2, 16),
        (100.0, (4.0,) * 10, 10, 16),
        (20.0, (9.0, 30.0, 60.0, 200.0, 500.0), 5, 128),
    ],
)
def test_plans_decide_horizon_and_codes(
    length: float, ways: tuple[float, ...], horizon: int, codes: int
) -> None:
    preset = suggested(Swaps(), Survey(1.0, 2.0, 0.0, 1.0, length, ways))
    assert (preset.horizon, preset.num_codes) == (horizon, codes)
    assert 2_000 <= preset.demonstrations <= 10_000


def test_actions_without_effect_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"none of .* random actions changes the state"):
        take_survey(Stuck())


def test_a_domain_without_an_expert_needs_data(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"solves none of its levels \(too hard\).*--data"):
        take_survey(Unsolved())
    shown = data.collect(Swaps(length=4), count=12, seed=0, out=tmp_path / "data")
    survey = take_survey(Unsolved(length=4), [tmp_path / "data"])
    assert survey.length == pytest.approx(shown.lengths.mean())
