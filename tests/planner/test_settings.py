"""Settings: layered, named, refused with reasons, and each declared once."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips.domains import Preset
from hips.errors import ConfigError
from hips.planner import settings
from hips.planner.settings import (
    Settings,
    defaults,
    knobs,
    named_set,
    paper_values,
    parse_epsilon,
    read,
    spell,
)

NUMBERS = [
    name for name, one in knobs().items() if math.isfinite(one.low) or math.isfinite(one.high)
]


def test_nothing_is_set_unless_somebody_sets_it() -> None:
    assert Settings().given() == {}
    chosen = Settings(epsilon=0.0, close_on_generation=False)
    assert chosen.given() == {"epsilon": 0.0, "close_on_generation": False}


def test_the_first_layer_that_has_a_value_wins() -> None:
    wanted = Settings(top_p=0.5)
    found = wanted.completed(
        {"top_p": 0.6, "epsilon": None, "horizon": 4}, {"epsilon": 0.1, "horizon": 5}
    )
    assert found.given() == {"top_p": 0.5, "horizon": 4, "epsilon": 0.1}
    assert wanted.given() == {"top_p": 0.5}


def test_values_that_are_false_or_zero_are_values() -> None:
    found = Settings(close_on_generation=False).completed(
        {"close_on_generation": True, "epsilon": 0.0}, {"epsilon": 0.5}
    )
    assert found.given() == {"epsilon": 0.0, "close_on_generation": False}


def test_layers_are_checked_like_wishes() -> None:
    with pytest.raises(ConfigError, match=r"No setting 'mass'\. Available: evaluation, epsilon"):
        Settings().completed({"mass": 0.5})
    with pytest.raises(ConfigError, match="top_p = 2"):
        Settings().completed({"top_p": 2.0})


def test_only_keeps_what_is_named() -> None:
    chosen = Settings(epsilon=0.1, top_p=0.5, horizon=3)
    assert chosen.only(["top_p", "horizon", "evaluation"]) == Settings(top_p=0.5, horizon=3)
    assert chosen.only([]) == Settings()


def test_defaults_complete_every_setting_but_the_horizon() -> None:
    complete = Settings().completed(defaults()).given()
    assert set(knobs()) - set(complete) == {"horizon"}
    Settings(**defaults())


def test_the_papers_values_are_those_of_the_domain() -> None:
    values = paper_values(Preset(epsilon=0.05))
    assert values["epsilon"] == 0.05
    assert (values["top_p"], values["min_reach_probability"]) == (1.0, 0.0)
    assert values["horizon"] == 40
    assert paper_values(Preset(horizon=50))["horizon"] == 50
    assert values["close_on_generation"] is True
    assert named_set("paper", Preset(epsilon=0.05)) == values
    with pytest.raises(ConfigError, match=r"'papers'. Available: paper\."):
        named_set("papers", Preset())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"top_p": 0.0}, r"top_p = 0.0 is not in \(0, 1\]\."),
        ({"top_p": 1.0001}, r"top_p = 1.0001 is not in \(0, 1\]\."),
        ({"epsilon": -0.1}, r"epsilon = -0.1 is not in \[0, 1\]\."),
        ({"heuristic_weight": 0.0}, r"heuristic_weight = 0.0 is not in \(0, ∞\)\."),
        ({"heuristic_weight": -1.0}, "heuristic_weight"),
        ({"prior_temperature": 0.0}, "prior_temperature"),
        ({"min_reach_probability": 1.5}, r"min_reach_probability = 1.5 is not in \[0, 1\]\."),
        ({"chunk_confidence": 0.0}, "chunk_confidence"),
        ({"horizon": 0}, r"horizon = 0 is not in \[1, 10000\]\."),
        ({"max_steps": 0}, "max_steps"),
        ({"evaluation": "phs_hut"}, "Unknown evaluation 'phs_hut'. Available: phs_hat, "),
        ({"generator": "oracle"}, "Unknown generator 'oracle'. Available: learned, "),
        ({"dynamics": "false"}, "Unknown dynamics 'false'. Available: true, learned, hybrid"),
        ({"precision": "fp16"}, "Unknown precision 'fp16'. Available: int8, fp32"),
    ],
)
def test_values_out_of_range_are_refused_with_the_range(value: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Settings(**value)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_no_number_may_be_without_end_or_none_at_all(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name} = "):
        Settings(**{name: value})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("epsilon", "1e-3", 0.001),
        ("epsilon", "0+", 0.0),
        ("epsilon", "→0", 0.0),
        ("top_p", "0.9", 0.9),
        ("horizon", "12", 12),
        ("close_on_generation", "True", True),
        ("close_on_generation", "false", False),
        ("evaluation", "gbfs", "gbfs"),
    ],
)
def test_text_is_read_by_type(name: str, text: str, value: Any) -> None:
    found = read(name, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("horizon", "2.5", "'horizon' must be a whole number, not '2.5'"),
        ("top_p", "much", "'top_p' must be a number, not 'much'"),
        ("close_on_generation", "perhaps", "must be true or false"),
        ("epsilon", "0", "ε '0' is not in"),
        ("temperature", "1", "No setting 'temperature'"),
    ],
)
def test_text_that_says_nothing_is_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(name, text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "nan", "", "abc"])
def test_bad_epsilon(text: str) -> None:
    with pytest.raises(ConfigError, match="ε"):
        parse_epsilon(text)


def test_settings_are_spelled_in_one_order_and_one_way() -> None:
    values = {"top_p": 1.0, "close_on_generation": True, "epsilon": 0.001, "evaluation": "gbfs"}
    expected = "evaluation=gbfs epsilon=0.001 top_p=1 close_on_generation=true"
    assert spell(values) == spell(dict(reversed(values.items()))) == expected
    assert spell({"top_p": 1}) == spell({"top_p": 1.0})
    assert spell({}) == ""


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "evaluation": st.sampled_from(["phs_hat", "gbfs"]),
        "epsilon": st.floats(0.0, 1.0),
        "top_p": st.floats(0.0, 1.0, exclude_min=True),
        "heuristic_weight": st.floats(1e-3, 1e20),
        "horizon": st.integers(1, 10_000),
        "close_on_generation": st.booleans(),
    },
)


@given(one=VALUES, other=VALUES)
def test_equal_texts_mean_equal_settings(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (spell(one) == spell(other)) == (Settings(**one) == Settings(**other))


@given(values=VALUES)
def test_what_is_spelled_can_be_read(values: dict[str, Any]) -> None:
    pairs = [pair.split("=") for pair in spell(values).split()]
    assert {name: read(name, text) for name, text in pairs} == values


def test_one_more_field_is_one_more_setting_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class More(Settings):
        patience: int | None = settings.knob("How long to wait.", default=3, paper=5, low=1, high=9)

    monkeypatch.setattr(settings, "Settings", More)
    assert list(knobs())[-1] == "patience"
    assert knobs()["patience"].help == "How long to wait."
    assert (defaults()["patience"], paper_values(Preset())["patience"]) == (3, 5)
    assert read("patience", "7") == 7
    assert spell({"patience": 7, "top_p": 0.5}) == "top_p=0.5 patience=7"
    assert More().completed({"patience": 4}).given() == {"patience": 4}
    with pytest.raises(ConfigError, match=r"patience = 10 is not in \[1, 9\]"):
        More(patience=10)


@pytest.mark.parametrize(
    "given",
    [{"horizon": 2.5}, {"epsilon": "x"}, {"evaluation": 3}, {"top_p": True}, {"max_steps": "7"}],
)
def test_values_of_another_type_are_rejected(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="must be of type"):
        Settings(**given)
