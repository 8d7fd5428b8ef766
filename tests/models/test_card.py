"""Cards: what they say, and that a damaged one is told from a whole one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hips import domains
from hips.errors import HipsError, ModelError
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models import bundle
from hips.models.card import CARD, FORMAT_VERSION, describe_spec, read_card, write_card
from hips.training import scoring
from tests.models.conftest import Change

REQUIRED = (
    "domain", "parameters", "spec", "any_size", "parts", "configuration", "settings", "files",
)  # fmt: skip
ODD: tuple[Any, ...] = (None, 3, -1, 0.5, "odd", True, [], [1], {}, {"odd": 1})


def test_a_card_survives_being_written(model: Path, tmp_path: Path) -> None:
    card = read_card(model)
    write_card(tmp_path, card)
    assert read_card(tmp_path) == card
    assert json.loads((tmp_path / CARD).read_text()) == json.loads((model / CARD).read_text())


def test_a_fingerprint_is_of_the_files_alone(model: Path, change_card: Change) -> None:
    card = read_card(model)
    noted = read_card(change_card(lambda content: content.update(notes="found good")))
    assert noted.facts["notes"] == "found good"
    assert noted.fingerprint() == card.fingerprint()
    other = read_card(change_card(lambda content: content["files"].update({"prior.onnx": "0"})))
    assert other.fingerprint() != card.fingerprint()


def test_a_card_says_whom_it_fits(model: Path) -> None:
    card = read_card(model)
    assert card.misfit(domains.create("sliding_tiles", height=3, width=3)) is None
    assert "made for 'sliding_tiles', not for 'tsp'" in str(card.misfit(domains.create("tsp")))
    smaller = domains.create("sliding_tiles", height=2, width=2)
    assert card.misfit(smaller) == "made for grids of 3×3, not 2×2"
    assert "another alphabet" in str(replace(card, any_size=True).misfit(smaller))
    tsp = domains.create("tsp", size=7, cities=4)
    fixed = replace(card, domain="tsp", spec=describe_spec(tsp.spec))
    other = domains.create("tsp", size=9, cities=4)
    assert fixed.misfit(tsp) is None
    assert fixed.misfit(other) == "made for grids of 7×7, not 9×9"
    assert replace(fixed, any_size=True).misfit(other) is None


@pytest.mark.parametrize("field", REQUIRED)
def test_missing_fields_are_named(field: str, change_card: Change) -> None:
    folder = change_card(lambda content: content.pop(field))
    with pytest.raises(ModelError, match=rf"card\.json: a field is missing or invalid .*'{field}'"):
        bundle.load(folder)


@pytest.mark.parametrize("field", REQUIRED)
@pytest.mark.parametrize("odd", [None, 3, "odd", [], [1]])
def test_odd_fields_are_refused(field: str, odd: Any, change_card: Change) -> None:
    folder = change_card(lambda content: content.update({field: odd}))
    with pytest.raises(
        ModelError, match=r"sliding_tiles|card\.json: a field is missing or invalid"
    ):
        bundle.load(folder, domains.create("sliding_tiles", height=3, width=3))


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        ("parts.prior", {"wings": 2}),
        ("parts.prior", {}),
        ("parts.prior.graphs", "prior.onnx"),
        ("parts.prior.graphs.prior", "prior.onnx"),
        ("parts.prior.graphs.prior", {"int8": "prior.int8.onnx"}),
        ("parts.prior.graphs.prior", {"fp32": 5}),
        ("parts.prior.configuration", None),
        ("parts.prior.scores", {"action_accuracy": "good"}),
        ("parts.prior.weights", None),
        ("configuration.horizon", "ten"),
        ("configuration.horizon", 0),
        ("configuration.horizon", None),
        ("spec.height", "three"),
        ("data", [1]),
        ("data.demonstrations", "many"),
        ("parts.prior.training", {"prior": "an hour"}),
        ("parts.prior.training", {"prior": {"minutes": "many"}}),
        ("parts.prior.training", {"prior": {"minutes": 1, "before": {"minutes": "many"}}}),
        ("files", {"prior.onnx": 3}),
    ],
)
def test_odd_parts_of_fields_are_refused(path: str, odd: Any, change_card: Change) -> None:
    folder = change_card(lambda content: put(content, path.split("."), odd))
    with pytest.raises(ModelError, match=r"card\.json: a field is missing or invalid"):
        bundle.load(folder)


def put(content: Any, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        content = content[name]
    content[path[-1]] = value


def paths(content: Any, depth: int) -> Iterator[list[str]]:
    """The places of all fields within fields."""
    if isinstance(content, dict) and depth:
        for name, inner in content.items():
            yield [name]
            yield from ([name, *rest] for rest in paths(inner, depth - 1))


def use(folder: Path) -> None:
    """Everything that reads a card."""
    domain = domains.create("sliding_tiles", height=3, width=3)
    loaded = bundle.load(folder)
    loaded.card.fingerprint()
    loaded.runtime("int8")
    Planner(domain, Choice(model=folder))
    scoring.prepare(loaded, {}, 1, 0)


def test_no_change_of_a_card_ends_in_a_traceback(model: Path, change_card: Change) -> None:
    """Each field, and each field within it, is replaced by odd values: errors are for people."""
    content = json.loads((model / CARD).read_text())
    heavy = {"detector", "dynamics", "heuristic", "reach_policy", "subgoals"}
    places = [
        path
        for path in paths(content, 4)
        if not (path[0] == "parts" and heavy & set(path[1:2])) and path[0] != "int8_error"
    ]
    assert len(places) > 50
    for place in places:
        for odd in ODD:
            with contextlib.suppress(HipsError):
                use(change_card(lambda card: put(card, place, odd)))  # noqa: B023


@pytest.mark.parametrize("version", [None, 2, FORMAT_VERSION + 1, "3"])
def test_other_formats_are_refused(version: Any, change_card: Change) -> None:
    folder = change_card(lambda content: content.update(format_version=version))
    with pytest.raises(ModelError, match=f"format {version}"):
        read_card(folder)


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", '"card"', ""])
def test_what_is_no_card_is_no_model(text: str, copy: Path) -> None:
    (copy / CARD).write_text(text)
    with pytest.raises(ModelError, match=r"not a model|format None"):
        bundle.load(copy)


def test_a_folder_without_a_card_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a model"):
        read_card(tmp_path)
