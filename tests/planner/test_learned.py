"""How many codes of a model are decoded, and what that is said to cost."""

from __future__ import annotations

import dataclasses
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips import domains
from hips.domains import Actions, Grids
from hips.errors import ConfigError, ModelError
from hips.planner import learned
from hips.planner.components import Components, SearchSettings
from hips.planner.expander import Hybrid
from hips.planner.learned import LearnedActions, LearnedGenerator, LearnedReach, _SharedPrior
from hips.planner.planner import Planner, installed_components
from hips.planner.policies import StateHeuristic
from tests.toys import LineWorld

LENGTH = 8
CHANCES = np.array([[0.7, 0.1, 0.15, 0.05], [0.26, 0.24, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]])


@dataclasses.dataclass
class TableRuntime:
    """π_SG from a table by the agent's place; code k jumps k + 1 cells to the right."""

    chances: np.ndarray
    decoded: int = 0

    def heuristic(self, states: Grids) -> np.ndarray:
        return np.zeros(len(states), dtype=np.float32)

    def prior(self, states: Grids) -> tuple[np.ndarray, np.ndarray]:
        places = states[:, 0].argmax(axis=1) % len(self.chances)
        actions = np.full((len(states), 2), np.log(0.5), dtype=np.float32)
        return np.log(self.chances[places]).astype(np.float32), actions

    def decode(self, states: Grids, parents: Actions, codes: Actions) -> np.ndarray:
        self.decoded += len(codes)
        scores = np.zeros((len(codes), 1, LENGTH, 3), dtype=np.float32)
        places = np.minimum(states[parents, 0].argmax(axis=1) + codes + 1, LENGTH - 1)
        scores[:, 0, :, 0] = 1.0
        scores[np.arange(len(codes)), 0, places, 1] = 2.0
        return scores

    def policy(self, states: Grids, subgoals: Grids) -> tuple[np.ndarray, np.ndarray]:
        right = np.tile(np.array([0.05, 0.95], dtype=np.float32), (len(states), 4, 1))
        return np.log(right), np.ones(len(states), dtype=np.float32)


def states(*places: int) -> Grids:
    return np.eye(LENGTH, dtype=np.uint8)[list(places)][:, None]


def generator(runtime: TableRuntime, mass: float) -> LearnedGenerator:
    return LearnedGenerator(domains.create("line_world"), runtime, _SharedPrior(runtime), mass)


def test_all_of_the_mass_is_every_code_likeliest_first() -> None:
    proposed = generator(TableRuntime(CHANCES), 1.0).propose(states(0, 2))
    assert proposed.parents.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert proposed.codes.tolist() == [0, 2, 1, 3, 3, 2, 1, 0]
    assert np.exp(proposed.log_probabilities) == pytest.approx(
        [0.7, 0.15, 0.1, 0.05, 0.4, 0.3, 0.2, 0.1], rel=1e-6
    )
    assert np.broadcast_to(proposed.calls, 2).tolist() == [5, 5]


def test_a_temperature_flattens_the_prior_of_the_codes_that_were_chosen() -> None:
    runtime = TableRuntime(CHANCES)
    cold = generator(runtime, 0.8).propose(states(0, 2))
    warm = dataclasses.replace(generator(runtime, 0.8), temperature=4.0).propose(states(0, 2))
    np.testing.assert_array_equal(warm.codes, cold.codes)
    np.testing.assert_allclose(warm.log_probabilities, cold.log_probabilities / 4.0)


@pytest.mark.parametrize(("asked", "expected"), [(None, 3.0), (1.5, 1.5)])
def test_the_settings_or_the_domains_temperature_reach_the_generator(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, expected: float
) -> None:
    line = domains.create("line_world")
    model = types.SimpleNamespace(domain=line, runtime=TableRuntime(CHANCES), horizon=3)
    monkeypatch.setattr("hips.planner.planner.bundle.load", lambda *_, **__: model)
    changed = dataclasses.replace(line.preset, temperature=3.0)
    monkeypatch.setattr(LineWorld, "preset", changed)
    made = installed_components(line, SearchSettings(temperature=asked), "any")(line)
    assert isinstance(made.generator, LearnedGenerator)
    assert made.generator.temperature == expected


@pytest.mark.parametrize(
    ("preset", "asked", "expected"), [(None, None, 3), (7, None, 7), (None, 5, 5), (7, 5, 5)]
)
def test_the_horizon_is_what_was_asked_for_or_suits_the_domain_or_the_model(
    monkeypatch: pytest.MonkeyPatch, preset: int | None, asked: int | None, expected: int
) -> None:
    line = domains.create("line_world")
    monkeypatch.setattr(LineWorld, "preset", dataclasses.replace(line.preset, reach=preset))
    parts = Components(generator(TableRuntime(CHANCES), 1.0), horizon=3)
    assert SearchSettings(horizon=asked).make_expander(line, parts).horizon == expected


def test_codes_without_a_chance_are_decoded_at_full_mass() -> None:
    certain = np.array([[1.0, 1e-30, 1e-30, 1e-30]])
    assert len(generator(TableRuntime(certain), 1.0).propose(states(0)).codes) == 4
    assert len(generator(TableRuntime(certain), 0.999).propose(states(0)).codes) == 1


def test_a_small_mass_is_the_likeliest_code_alone() -> None:
    proposed = generator(TableRuntime(CHANCES), 1e-9).propose(states(0, 1, 2))
    assert proposed.parents.tolist() == [0, 1, 2]
    assert proposed.codes.tolist() == [0, 0, 3]


def test_how_many_codes_hangs_on_the_state_and_calls_count_them() -> None:
    runtime = TableRuntime(CHANCES)
    proposed = generator(runtime, 0.65).propose(states(0, 1, 2))
    assert proposed.parents.tolist() == [0, 1, 1, 1, 2, 2]
    assert proposed.codes.tolist() == [0, 0, 2, 3, 3, 2]
    assert runtime.decoded == 6
    assert np.broadcast_to(proposed.calls, 3).tolist() == [2, 4, 3]  # and the prior, once each
    assert proposed.targets is not None
    assert proposed.targets[:, 0].argmax(axis=1).tolist() == [1, 2, 4, 5, 6, 5]


def test_a_remembered_prior_costs_nothing() -> None:
    chosen = generator(TableRuntime(CHANCES), 0.65)
    batch = states(0, 1, 2)
    LearnedActions(chosen.prior).log_probabilities(batch)
    assert np.broadcast_to(chosen.propose(batch).calls, 3).tolist() == [1, 3, 2]


@given(
    logits=st.lists(
        st.lists(st.floats(-8.0, 8.0), min_size=6, max_size=6), min_size=1, max_size=LENGTH
    ),
    mass=st.floats(0.01, 0.99),
)
def test_the_fewest_codes_that_have_the_mass(logits: list[list[float]], mass: float) -> None:
    weights = np.exp(np.array(logits))
    chances = weights / weights.sum(axis=1, keepdims=True)
    rows = len(chances)
    proposed = generator(TableRuntime(chances), mass).propose(states(*range(rows)))
    assert (np.diff(proposed.parents) >= 0).all()
    for row in range(rows):
        codes = proposed.codes[proposed.parents == row]
        taken, left = chances[row, codes], np.delete(chances[row], codes)
        assert len(set(codes.tolist())) == len(codes) > 0
        assert left.max(initial=0.0) <= taken.min() + 1e-6
        assert taken.sum() >= mass - 1e-5
        assert taken.sum() - taken.min() <= mass + 1e-5


def test_large_batches_are_decoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = states(0, 1, 2, 3, 4)
    whole = generator(TableRuntime(CHANCES), 0.65).propose(batch)
    monkeypatch.setattr(learned, "DECODED_AT_ONCE", 2)
    parts = generator(TableRuntime(CHANCES), 0.65).propose(batch)
    assert whole.targets is not None
    assert parts.targets is not None
    assert (whole.targets == parts.targets).all()


def test_a_prior_that_gives_nan_is_named() -> None:
    broken = np.where(CHANCES > 0, np.nan, CHANCES)
    for mass in (0.65, 1.0):
        with pytest.raises(ModelError, match="NaN"):
            generator(TableRuntime(broken), mass).propose(states(0))


def test_a_search_counts_what_was_decoded() -> None:
    runtime = TableRuntime(CHANCES)
    chosen = generator(runtime, 0.65)
    low_level, reach = LearnedActions(chosen.prior), LearnedReach(runtime)
    expander = Hybrid(chosen.domain, chosen, low_level, 0.1, reach, horizon=4, confidence=0.9)
    children = expander.expand(states(0, 1, 2))
    subgoals = children.kinds >= 0
    assert np.bincount(children.parents[subgoals]).tolist() == [1, 3, 2]
    # The prior, the codes, and the policy once for each of them: it foresees four steps.
    assert children.network_calls.tolist() == [1 + 2 * 1, 1 + 2 * 3, 1 + 2 * 2]
    total = np.bincount(children.parents, weights=np.exp(children.log_probabilities))
    assert total == pytest.approx(np.ones(3))


@pytest.mark.parametrize("mass", [0.0, -0.1, 1.0001, float("nan"), float("inf")])
def test_a_mass_that_is_no_share_is_refused(mass: float) -> None:
    with pytest.raises(ConfigError, match="mass"):
        SearchSettings(mass=mass)


@pytest.mark.parametrize(
    ("asked", "preset", "expected"), [(3.0, 1.0, 6.0), (None, 2.0, 4.0), (1.0, 2.0, 2.0)]
)
def test_the_settings_or_the_domains_weight_multiply_the_heuristic(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, preset: float, expected: float
) -> None:
    line = domains.create("line_world")
    monkeypatch.setattr(LineWorld, "preset", dataclasses.replace(line.preset, weight=preset))
    components = Components(heuristic=StateHeuristic(lambda _: 2.0))
    heuristic = SearchSettings(weight=asked).make_expander(line, components).heuristic
    assert heuristic is not None
    assert heuristic.distances(states(0)).tolist() == [expected]


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused(weight: float) -> None:
    with pytest.raises(ConfigError, match="weight"):
        SearchSettings(weight=weight)


@pytest.mark.parametrize("confidence", [0.0, -0.1, 1.5, float("nan")])
def test_a_confidence_that_is_no_probability_is_refused(confidence: float) -> None:
    with pytest.raises(ConfigError, match="confidence"):
        Planner(domains.create("line_world"), Components(), SearchSettings(confidence=confidence))


@pytest.mark.parametrize(
    ("asked", "preset", "steps"), [(0.5, 1.0, {1}), (None, 0.5, {1}), (1.0, 0.5, {1, 2})]
)
def test_the_settings_or_the_domains_mass_reach_the_model_that_is_loaded(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, preset: float, steps: set[int]
) -> None:
    """With half of the mass only jumps of one cell are known."""
    runtime = TableRuntime(np.array([[0.6, 0.4]]))
    line = domains.create("line_world")
    model = types.SimpleNamespace(domain=line, runtime=runtime, horizon=3)
    changed = dataclasses.replace(line.preset, mass=preset)
    monkeypatch.setattr("hips.planner.planner.bundle.load", lambda *_, **__: model)
    monkeypatch.setattr(LineWorld, "preset", changed)
    settings = SearchSettings("hips", mass=asked)
    result = Planner.load("line_world", model="any", settings=settings).solve("10000000")
    assert result.plan == ("right",) * 7
    assert {segment.steps for segment in result.segments} == steps
