"""Methods: known by name, with settings of their own, resolved layer by layer."""

from __future__ import annotations

import pytest

from hips import methods, parts
from hips.domains import Preset
from hips.errors import ConfigError
from hips.methods.base import Execution, Method
from hips.planner.settings import Settings, knobs
from tests.toys import LineWorld

from .fakes import line_card


def test_shipped_methods_are_known_in_the_order_for_people() -> None:
    assert methods.names()[: len(methods.SHIPPED)] == methods.SHIPPED
    for name in methods.names():
        method = methods.get(name)
        assert method.name == name
        assert method.label
        assert method.about


@pytest.mark.parametrize("name", methods.names())
def test_methods_name_parts_and_settings_that_exist(name: str) -> None:
    method = methods.get(name)
    assert set(method.parts) <= set(parts.names())
    assert set(method.settings) <= set(knobs())
    assert set(method.defaults) <= set(method.settings)


@pytest.mark.parametrize("name", methods.names())
def test_resolved_settings_are_all_that_the_method_has(name: str) -> None:
    method = methods.get(name)
    found = method.resolve(LineWorld(), Settings(), None, line_card()).given()
    assert set(found) == set(method.settings)
    assert method.defaults.items() <= found.items()


def test_wishes_come_before_sets_methods_cards_and_defaults() -> None:
    method = methods.get("phs_star")
    card = line_card(evaluation="gbfs", heuristic_weight=2.0, precision="fp32")
    found = method.resolve(LineWorld(), Settings(precision="int8"), None, card)
    assert found.precision == "int8"
    assert found.evaluation == "phs_star"
    assert found.heuristic_weight == 2.0
    assert found.dynamics == "true"
    paper = method.resolve(LineWorld(), Settings(), "paper", card)
    assert (paper.evaluation, paper.precision) == ("phs_hat", "fp32")
    assert paper.heuristic_weight == 1.0


def test_the_horizon_comes_from_the_domain_without_a_model() -> None:
    method = methods.get("hips_eps")
    assert LineWorld().preset.horizon == 3 != Preset().horizon
    assert method.resolve(LineWorld(), Settings(), None, None).horizon == 3
    assert method.resolve(LineWorld(), Settings(), None, line_card(9)).horizon == 9


def test_settings_that_a_method_does_not_have_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'low_level' has no setting 'epsilon'\. It has: eval"):
        methods.get("low_level").resolve(LineWorld(), Settings(epsilon=0.1), None, None)
    with pytest.raises(ConfigError, match=r"'lama' has no setting 'horizon'\. It has: none"):
        methods.get("lama").resolve(LineWorld(), Settings(horizon=3), None, None)


def test_equal_texts_mean_equal_searches() -> None:
    method = methods.get("hips_eps")
    texts = {
        method.spell(method.resolve(LineWorld(), wanted, None, None))
        for wanted in (Settings(), Settings(top_p=1.0), Settings(top_p=0.5), Settings(horizon=4))
    }
    assert len(texts) == 3
    assert all(text.startswith("hips_eps evaluation=phs_hat epsilon=0.001 ") for text in texts)
    assert methods.get("lama").spell(Settings()) == "lama"


def test_a_name_is_taken_once() -> None:
    known = methods.get("bc")
    assert methods.register(known) is known
    with pytest.raises(ConfigError, match="already registered"):
        methods.register(Method("bc", "another", "one", known.build))


def test_impossible_batches_are_refused() -> None:
    with pytest.raises(ConfigError, match="batch of 0"):
        Execution(batch=0)
    assert Execution(threads=3).describe()["threads"] == 3
    assert Execution().num_threads >= 1
