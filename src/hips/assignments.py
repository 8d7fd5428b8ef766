"""Parses `KEY=VALUE` assignments of domain parameters and training settings."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from hips.errors import ConfigError

Record = TypeVar("Record")

READERS: Mapping[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    str: (str, "text"),
}
"""Parser of each type, and its name in error messages."""


def split(assignment: str) -> tuple[str, str]:
    """Key and value of `KEY=VALUE`.

    >>> split("boxes = 6")
    ('boxes', '6')
    """
    key, equals, text = assignment.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"'{assignment}' is not of the form KEY=VALUE.")
    return key.strip(), text.strip()


def convert(key: str, text: str, hint: Any) -> Any:
    """Parses `text` as the type `hint`; other types are read as JSON."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hints = [one for one in typing.get_args(hint) if one is not type(None)]
        if text.lower() in ("none", "null") and len(hints) < len(typing.get_args(hint)):
            return None
        hint = hints[0]
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if text not in choices:
            raise ConfigError(f"'{key}' must be one of {', '.join(choices)}, not '{text}'.")
        return text
    reader, expected = READERS.get(hint, (json.loads, "valid JSON"))
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise ConfigError(f"'{key}' must be {expected}, not '{text}'.") from None


def assign(record: Record, assignments: Sequence[str]) -> Record:
    """A frozen dataclass with some fields replaced; dotted keys name nested fields.

    Mappings of records are traversed like records.
    """
    for assignment in assignments:
        key, text = split(assignment)
        record = _assign(record, key.split("."), text, assignment)
    return record


def _assign(node: Any, path: Sequence[str], text: str, assignment: str) -> Any:
    name, rest = path[0], path[1:]
    if isinstance(node, Mapping):
        _check_known(name, node, assignment)
        if not rest:
            raise ConfigError(f"'{assignment}': name a single setting of '{name}'.")
        return {**node, name: _assign(node[name], rest, text, assignment)}
    hints = typing.get_type_hints(type(node))
    _check_known(name, [field.name for field in dataclasses.fields(node)], assignment)
    present = getattr(node, name)
    nested = dataclasses.is_dataclass(present) or isinstance(present, Mapping)
    if nested != bool(rest):
        raise ConfigError(f"'{assignment}': name a single setting of '{name}'.")
    value = _assign(present, rest, text, assignment) if rest else convert(name, text, hints[name])
    return dataclasses.replace(node, **{name: value})


def _check_known(name: str, known: Any, assignment: str) -> None:
    if name not in known:
        available = ", ".join(sorted(known)) or "none"
        raise ConfigError(f"'{assignment}': no setting '{name}'. Available: {available}.")
