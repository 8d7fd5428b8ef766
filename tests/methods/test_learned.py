"""How many codes of a model are decoded, what that is said to cost, and who decides about it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips.domains import Grids
from hips.errors import ModelError
from hips.methods.planner import Planner
from hips.models.card import Card
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals import adapter
from hips.parts.subgoals.adapter import VqGenerator
from hips.planner.expander import Hybrid
from hips.planner.rollouts import RolloutLimits
from hips.planner.settings import Settings
from hips.planner.solvers import SearchSolver
from hips.planner.widening import Widening
from tests.toys import LineWorld

from .fakes import LENGTH, TableModel, install, line_card

CHANCES = np.array([[0.7, 0.1, 0.15, 0.05], [0.26, 0.24, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]])


def states(*places: int) -> Grids:
    return np.eye(LENGTH, dtype=np.uint8)[list(places)][:, None]


def generator(model: TableModel, top_p: float, threads: int = 1) -> VqGenerator:
    runtime = model.runtime(threads)
    return VqGenerator(LineWorld(), runtime, LearnedPrior(runtime), top_p)


def test_all_of_the_mass_is_every_code_likeliest_first() -> None:
    proposed = generator(TableModel(CHANCES), 1.0).propose(states(0, 2))
    assert proposed.parents.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert proposed.codes.tolist() == [0, 2, 1, 3, 3, 2, 1, 0]
    assert np.exp(proposed.log_probabilities) == pytest.approx(
        [0.7, 0.15, 0.1, 0.05, 0.4, 0.3, 0.2, 0.1], rel=1e-6
    )
    assert np.broadcast_to(proposed.calls, 2).tolist() == [5, 5]


def test_a_temperature_flattens_the_prior_of_the_codes_that_were_chosen() -> None:
    model = TableModel(CHANCES)
    cold = generator(model, 0.8).propose(states(0, 2))
    warm = dataclasses.replace(generator(model, 0.8), temperature=4.0).propose(states(0, 2))
    np.testing.assert_array_equal(warm.codes, cold.codes)
    np.testing.assert_allclose(warm.log_probabilities, cold.log_probabilities / 4.0)


def test_codes_without_a_chance_are_decoded_at_full_mass() -> None:
    certain = np.array([[1.0, 1e-30, 1e-30, 1e-30]])
    assert len(generator(TableModel(certain), 1.0).propose(states(0)).codes) == 4
    assert len(generator(TableModel(certain), 0.999).propose(states(0)).codes) == 1


def test_a_small_mass_is_the_likeliest_code_alone() -> None:
    proposed = generator(TableModel(CHANCES), 1e-9).propose(states(0, 1, 2))
    assert proposed.parents.tolist() == [0, 1, 2]
    assert proposed.codes.tolist() == [0, 0, 3]


@pytest.mark.parametrize("threads", [1, 3])
def test_how_many_codes_hangs_on_the_state_and_calls_count_them(threads: int) -> None:
    model = TableModel(CHANCES)
    proposed = generator(model, 0.65, threads).propose(states(0, 1, 2))
    assert proposed.parents.tolist() == [0, 1, 1, 1, 2, 2]
    assert proposed.codes.tolist() == [0, 0, 2, 3, 3, 2]
    assert np.broadcast_to(proposed.calls, 3).tolist() == [2, 4, 3]  # and the prior, once each
    assert proposed.targets is not None
    assert proposed.targets[:, 0].argmax(axis=1).tolist() == [1, 2, 4, 5, 6, 5]
    assert threads > 1 or model.rows == {"prior": 3, "decoder": 6}


def test_the_actions_of_the_same_pass_come_with_the_proposals() -> None:
    model = TableModel(CHANCES)
    chosen = generator(model, 0.65)
    proposed = chosen.propose(states(0, 1, 2))
    assert chosen.action_policy is chosen.prior
    assert model.rows["prior"] == 3
    np.testing.assert_array_equal(
        proposed.action_log_probabilities, chosen.prior.log_probabilities(states(0, 1, 2))
    )


@given(
    logits=st.lists(
        st.lists(st.floats(-8.0, 8.0), min_size=6, max_size=6), min_size=1, max_size=LENGTH
    ),
    top_p=st.floats(0.01, 0.99),
)
def test_the_fewest_codes_that_have_the_mass(logits: list[list[float]], top_p: float) -> None:
    weights = np.exp(np.array(logits))
    chances = weights / weights.sum(axis=1, keepdims=True)
    rows = len(chances)
    proposed = generator(TableModel(chances), top_p).propose(states(*range(rows)))
    assert (np.diff(proposed.parents) >= 0).all()
    for row in range(rows):
        codes = proposed.codes[proposed.parents == row]
        taken, left = chances[row, codes], np.delete(chances[row], codes)
        assert len(set(codes.tolist())) == len(codes) > 0
        assert left.max(initial=0.0) <= taken.min() + 1e-6
        assert taken.sum() >= top_p - 1e-5
        assert taken.sum() - taken.min() <= top_p + 1e-5


def test_large_batches_are_decoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = states(0, 1, 2, 3, 4)
    whole = generator(TableModel(CHANCES), 0.65).propose(batch)
    monkeypatch.setattr(adapter, "DECODED_AT_ONCE", 2)
    parts = generator(TableModel(CHANCES), 0.65).propose(batch)
    assert whole.targets is not None
    assert parts.targets is not None
    np.testing.assert_array_equal(whole.targets, parts.targets)


def test_a_prior_that_gives_nan_is_named() -> None:
    broken = np.where(CHANCES > 0, np.nan, CHANCES)
    for top_p in (0.65, 1.0):
        with pytest.raises(ModelError, match="NaN"):
            generator(TableModel(broken), top_p).propose(states(0))


def test_a_search_counts_what_was_decoded() -> None:
    model = TableModel(CHANCES)
    chosen = generator(model, 0.65)
    limits = RolloutLimits(4, chunk_confidence=0.9)
    reach = LearnedReachPolicy(chosen.runtime)
    expander = Hybrid(chosen.domain, chosen, chosen.action_policy, 0.1, reach, limits=limits)
    children = expander.expand(states(0, 1, 2))
    subgoals = children.kinds >= 0
    assert np.bincount(children.parents[subgoals]).tolist() == [1, 3, 2]
    # The prior, the codes, and the policy once for each of them: it foresees four steps.
    assert children.costs.column("network_rows").tolist() == [1 + 2 * 1, 1 + 2 * 3, 1 + 2 * 2]
    assert sum(model.rows.values()) == children.costs.column("network_rows").sum()
    total = np.bincount(children.parents, weights=np.exp(children.log_probabilities))
    assert total == pytest.approx(np.ones(3))


# -- who decides about the settings --------------------------------------------------------------


def wired(monkeypatch: pytest.MonkeyPatch, settings: Settings, card: Card) -> Hybrid:
    """The expander of a planner whose model has this card."""
    install(monkeypatch, TableModel(CHANCES), card)
    solver = Planner.load("line_world", settings=settings).prepare(LineWorld()).solver
    assert isinstance(solver, SearchSolver)
    assert isinstance(solver.expander, Hybrid)
    return solver.expander


@pytest.mark.parametrize(
    ("asked", "card", "expected"),
    [
        (None, {}, 1.0),
        (None, {"prior_temperature": 3.0}, 3.0),
        (1.5, {"prior_temperature": 3}, 1.5),
    ],
)
def test_the_settings_or_the_cards_temperature_reach_the_generator(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, card: dict[str, float], expected: float
) -> None:
    expander = wired(monkeypatch, Settings(prior_temperature=asked), line_card(**card))
    assert isinstance(expander.generator, VqGenerator)
    assert expander.generator.temperature == expected
    assert expander.generator.action_policy is expander.action_policy


@pytest.mark.parametrize(("early_top_p", "narrow"), [(0.5, 0.5), (1.0, 0.9)])
def test_early_expansions_decode_fewer_codes_and_never_more(
    monkeypatch: pytest.MonkeyPatch, early_top_p: float, narrow: float
) -> None:
    settings = Settings(top_p=0.9, early_expansions=3, early_top_p=early_top_p)
    install(monkeypatch, TableModel(CHANCES), line_card())
    solver = Planner.load("line_world", settings=settings).prepare(LineWorld()).solver
    assert isinstance(solver, SearchSolver)
    assert isinstance(solver.expander, Widening)
    assert solver.expander.expansions == 3
    for expander, top_p in ((solver.expander.early, narrow), (solver.expander.later, 0.9)):
        assert isinstance(expander, Hybrid)
        assert isinstance(expander.generator, VqGenerator)
        assert expander.generator.top_p == top_p


@pytest.mark.parametrize(
    ("asked", "tuned", "expected"), [(None, None, 6), (None, 7, 7), (5, None, 5), (5, 7, 5)]
)
def test_the_horizon_is_what_was_asked_for_or_suits_the_model(
    monkeypatch: pytest.MonkeyPatch, asked: int | None, tuned: int | None, expected: int
) -> None:
    card = line_card(6) if tuned is None else line_card(6, horizon=tuned)
    limits = wired(monkeypatch, Settings(horizon=asked), card).limits
    assert limits is not None
    assert limits.horizon == expected


@pytest.mark.parametrize(
    ("asked", "card", "expected"), [(3.0, 1.0, 21.0), (None, 2.0, 14.0), (1.0, 2.0, 7.0)]
)
def test_the_settings_or_the_cards_weight_multiply_the_heuristic(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, card: float, expected: float
) -> None:
    settings = Settings(heuristic_weight=asked)
    heuristic = wired(monkeypatch, settings, line_card(heuristic_weight=card)).heuristic
    assert heuristic is not None
    assert heuristic.distances(states(0)).tolist() == [expected]


@pytest.mark.parametrize(
    ("asked", "card", "steps"), [(0.5, 1.0, {1}), (None, 0.5, {1}), (1.0, 0.5, {1, 2})]
)
def test_the_settings_or_the_cards_mass_reach_the_model_that_is_loaded(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, card: float, steps: set[int]
) -> None:
    """With half of the mass only jumps of one cell are known."""
    install(monkeypatch, TableModel(np.array([[0.6, 0.4]])), line_card(top_p=card))
    settings = Settings(top_p=asked, evaluation="levin_ts")
    planner = Planner.load("line_world", method="hips", settings=settings)
    result = planner.solve("10000000")
    assert result.plan == ("right",) * 7
    assert {segment.steps for segment in result.segments} == steps
    assert result.provenance.settings["top_p"] == (card if asked is None else asked)
