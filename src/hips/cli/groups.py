"""Option groups: a verb takes a dataclass, whose fields become command-line options."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from hips import plugins
from hips.errors import ConfigError
from hips.planner.settings import Knob, Settings, from_values, knobs

PLACEHOLDERS = {bool: "", int: "N", float: "X", str: "NAME", Path: "FILE"}
Verb = TypeVar("Verb", bound=Callable[..., Any])
SETTINGS_PANEL = "Search settings"
SWITCHES_PANEL = "Search settings, on or off"
"""Apart, since the names of their opposites need a column that would narrow the other panel."""


def with_groups(verb: Verb) -> Verb:
    """A verb whose parameters may be dataclasses; each field becomes an option.

    Fields are annotated like Typer's parameters. `Settings` expands to every search setting. The
    files of `--plugin` are loaded first, since options may name what they register.
    """
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
    shown: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(verb).parameters.items():
        hint = hints[name]
        if dataclasses.is_dataclass(hint):
            make, fields = _settings() if hint is Settings else _fields(hint)
            groups[name] = (make, tuple(field.name for field in fields))
            shown += fields
        else:
            shown.append(_option(name, hint, parameter.default))

    @functools.wraps(verb)
    def call(**values: Any) -> Any:
        for file in values.get("plugin") or ():
            plugins.load(file)
        arguments = {name: value for name, value in values.items() if name in hints}
        for name, (make, names) in groups.items():
            arguments[name] = make({field: values[field] for field in names})
        return verb(**arguments)

    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return call  # type: ignore[return-value]


def folded(*main: str) -> Callable[[Verb], Verb]:
    """Shows the options `main` first in the help, and all others under *Search settings*."""

    def fold(verb: Verb) -> Verb:
        signature = inspect.signature(verb)
        shown = [
            one if one.name in main else one.replace(annotation=_in_panel(one.annotation))
            for one in signature.parameters.values()
        ]
        verb.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        verb.__annotations__ = {one.name: one.annotation for one in shown}
        return verb

    return fold


def _in_panel(hint: Any) -> Any:
    """The same option under *Search settings*; arguments stay where they are."""
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    moved = [copy.copy(one) for one in notes]
    for one in moved:
        if isinstance(one, OptionInfo):
            one.rich_help_panel = _panel(kind, one)
    return Annotated[(kind, *moved)] if moved else hint


def _panel(kind: Any, option: OptionInfo) -> str:
    has_opposite = bool in (kind, *get_args(kind)) and not option.param_decls
    return SWITCHES_PANEL if has_opposite else SETTINGS_PANEL


def _fields(group: Any) -> tuple[Callable[..., Any], list[inspect.Parameter]]:
    hints = get_type_hints(group, include_extras=True)
    fields = []
    for field in dataclasses.fields(group):
        required = field.default is dataclasses.MISSING
        default = inspect.Parameter.empty if required else field.default
        fields.append(_option(field.name, hints[field.name], default))
    return lambda values: group(**values), fields


def _settings() -> tuple[Callable[..., Any], list[inspect.Parameter]]:
    hints = get_type_hints(Settings)
    fields = [_option(name, _knob_hint(hints[name], knob), None) for name, knob in knobs().items()]
    return from_values, fields


def _knob_hint(hint: Any, knob: Knob) -> Any:
    if knob.read is not None:
        hint = str | None
    details = [knob.help]
    if knob.choices is not None:
        details.append(f"One of {', '.join(knob.choices())}.")
    elif knob.range() and knob.read is None:
        details.append(f"In {knob.range()}.")
    option = typer.Option(help=" ".join(details))
    option.rich_help_panel = _panel(hint, option)
    return Annotated[hint, option]


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=_with_placeholder(hint))


def _with_placeholder(hint: Any) -> Any:
    """The same option with a short placeholder of its value, so that 80 columns have room."""
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    word = next((PLACEHOLDERS[one] for one in _simple(kind) if one in PLACEHOLDERS), None)
    shown = [copy.copy(one) for one in notes]
    for one in shown:
        if isinstance(one, OptionInfo) and one.metavar is None:
            one.metavar = word
    return Annotated[(kind, *shown)] if shown else hint


def _simple(kind: Any) -> list[Any]:
    """The types in a hint such as `list[Path] | None`."""
    inside = [found for one in get_args(kind) for found in _simple(one)]
    return inside or [kind]


def parse_memory(text: str | None) -> int | None:
    """Bytes from a number with an optional unit (K, M, G, T), e.g. `500M`.

    >>> parse_memory("2K")
    2048
    """
    if text is None:
        return None
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    amount = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = amount[-1:] if amount[-1:] in units else ""
    try:
        number = float(amount.removesuffix(unit) if unit else amount)
        bytes_ = int(number * units[unit])
    except (ValueError, OverflowError):
        bytes_ = -1
    if not 0 <= bytes_ < 1 << 63:
        raise ConfigError(f"'{text}' is not an amount of memory; write e.g. 500M or 2G.")
    return bytes_
