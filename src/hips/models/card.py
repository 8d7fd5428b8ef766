"""The card of a model: its description, its parts, and the hashes of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hips.domains.base import Domain, GridSpec
from hips.errors import HipsError, ModelError
from hips.files import read_json, write_json

FORMAT_VERSION = 3
CARD = "card.json"
WEIGHTS = "weights.safetensors"


@dataclass(frozen=True, slots=True)
class PartEntry:
    """One learned part of a model.

    Attributes:
        configuration: of its network and training.
        graphs: names of the ONNX files by graph and precision.
        weights: prefix of its tensors in the weights file; empty if it has none there.
        training: record of every stage: steps, minutes, validation, and its predecessors.
        scores: scores on held-out demonstrations.
    """

    configuration: Mapping[str, Any]
    graphs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    weights: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The entry as stored in a card."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Card:
    """A model's card.

    Attributes:
        domain: name of the domain.
        parameters: the domain's parameters in training.
        spec: height, width, number of symbols and number of actions.
        any_size: whether it accepts grids of other sizes.
        parts: its parts, by name.
        configuration: shared by the parts: horizon, segmentation, data, seed.
        settings: recommended search settings.
        files: SHA-256 of every file, by name.
        facts: everything else: data, labels, benchmark results, notes.
    """

    domain: str
    parameters: Mapping[str, Any]
    spec: Mapping[str, int]
    any_size: bool
    parts: Mapping[str, PartEntry]
    configuration: Mapping[str, Any]
    settings: Mapping[str, Any]
    files: Mapping[str, str]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def horizon(self) -> int:
        """H: the maximum number of low-level steps to a subgoal in training."""
        return int(self.configuration["horizon"])

    def fingerprint(self) -> str:
        """One hash over all files; later additions to the card do not change it."""
        text = "\n".join(f"{name} {self.files[name]}" for name in sorted(self.files))
        return hashlib.sha256(text.encode()).hexdigest()

    def misfit(self, domain: Domain) -> str | None:
        """Why the model cannot take the domain's states; None if it can."""
        spec, trained = domain.spec, self.spec
        if domain.name != self.domain:
            return f"made for '{self.domain}', not for '{domain.name}'"
        if not self.any_size and [spec.height, spec.width] != [trained["height"], trained["width"]]:
            size = f"{trained['height']}×{trained['width']}"
            return f"made for grids of {size}, not {spec.height}×{spec.width}"
        if [spec.num_symbols, spec.num_actions] != [trained["symbols"], trained["actions"]]:
            return "made for another alphabet or other actions"
        if not domain.same_rules(self.parameters):
            return "made for other rules of the same domain"
        return None

    def to_json(self) -> dict[str, Any]:
        """The card as stored."""
        return {
            "format_version": FORMAT_VERSION,
            "domain": self.domain,
            "parameters": dict(self.parameters),
            "spec": dict(self.spec),
            "any_size": self.any_size,
            "parts": {name: part.to_json() for name, part in self.parts.items()},
            "configuration": dict(self.configuration),
            "settings": dict(self.settings),
            **self.facts,
            "files": dict(self.files),
        }


def describe_spec(spec: GridSpec) -> dict[str, int]:
    """A card's entry about a domain's grids."""
    return {
        "height": spec.height,
        "width": spec.width,
        "symbols": spec.num_symbols,
        "actions": spec.num_actions,
    }


def read_card(folder: Path) -> Card:
    """The card of the model in `folder`.

    Raises:
        ModelError: the card is missing, damaged, or of another format.
    """
    try:
        content = read_json(folder / CARD)
    except HipsError as error:
        raise ModelError(f"{folder}: not a model ({error})") from None
    version = content.get("format_version") if isinstance(content, dict) else None
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{folder}: the model has format {version}; this version reads {FORMAT_VERSION}; "
            "train it again or install a matching version."
        )
    try:
        return _parse(content)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelError(f"{folder / CARD}: a field is missing or invalid ({error!r}).") from None


def _parse(content: Mapping[str, Any]) -> Card:
    known = {"format_version", *Card.__slots__} - {"facts"}
    spec = {key: int(content["spec"][key]) for key in ("height", "width", "symbols", "actions")}
    card = Card(
        domain=_typed("domain", content["domain"], str),
        parameters=_typed("parameters", content["parameters"], dict),
        spec=spec,
        any_size=_typed("any_size", content["any_size"], bool),
        parts={name: _parse_part(name, entry) for name, entry in content["parts"].items()},
        configuration=_typed("configuration", content["configuration"], dict),
        settings=_typed("settings", content["settings"], dict),
        files={name: _typed(name, digest, str) for name, digest in content["files"].items()},
        facts={name: value for name, value in content.items() if name not in known},
    )
    _check_data(card.facts.get("data", {}))
    if card.horizon < 1:
        raise ValueError(f"invalid horizon {card.horizon}")
    return card


def _parse_part(name: str, content: Mapping[str, Any]) -> PartEntry:
    entry = PartEntry(**content)
    for field_name in ("configuration", "graphs", "training", "scores"):
        _typed(f"{name}.{field_name}", getattr(entry, field_name), dict)
    _typed(f"{name}.weights", entry.weights, str)
    for stage, record in entry.training.items():
        _check_stage(f"{name}.training.{stage}", record)
    for graph, files in entry.graphs.items():
        for file in (_typed(graph, files, dict)["fp32"], *files.values()):
            _typed(graph, file, str)
    for score, value in entry.scores.items():
        _typed(score, value, (int, float))
    return entry


def _check_data(facts: Any) -> None:
    """What the card says about its data is shown in lists of models."""
    _typed("data", facts, dict)
    _typed("data.demonstrations", facts.get("demonstrations", 0), int)


def _check_stage(name: str, record: Any) -> None:
    """A stage and those of the models it continued: their minutes are added up."""
    while record is not None:
        minutes = _typed(name, record, dict).get("minutes", 0)
        _typed(f"{name}.minutes", minutes, (int, float))
        record = record.get("before")


def _typed(name: str, value: Any, kind: type[Any] | tuple[type[Any], ...]) -> Any:
    """The value, if it has the right type."""
    if not isinstance(value, kind):
        raise TypeError(f"'{name}' is {value!r}")
    return value


def write_card(folder: Path, card: Card) -> None:
    """Writes the card atomically."""
    write_json(folder / CARD, card.to_json())
