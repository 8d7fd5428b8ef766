"""Options that several verbs share, and what they mean."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hips import demonstrations, domains
from hips.domains import Domain, Grid
from hips.errors import ConfigError, LevelError
from hips.files import read_text

DomainArgument = Annotated[
    str, typer.Argument(metavar="DOMAIN", help="Name of a domain; `hips domains` lists them.")
]
VariantOption = Annotated[
    str | None, typer.Option("--variant", help="A named parameter set of the domain.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the domain; repeatable."),
]
PluginOption = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE.py", help="Load domains from a file; repeatable."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

STANDARD_INPUT = Path("-")

READERS: Mapping[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    str: (str, "text"),
}
"""How a parameter of each type is read, and what it is called in an error."""


def load_plugins(plugins: Sequence[Path] | None) -> None:
    """Loads the files of `--plugin`."""
    for plugin in plugins or ():
        domains.load_plugin(plugin)


def make_domain(
    name: str,
    variant: str | None = None,
    settings: Sequence[str] | None = None,
    plugins: Sequence[Path] | None = None,
) -> Domain:
    """The domain that the common options describe."""
    load_plugins(plugins)
    default = domains.create(name)
    return domains.create(name, variant, **parse_settings(default, settings or ()))


def parse_settings(domain: Domain, settings: Sequence[str]) -> dict[str, Any]:
    """The values of `--set key=value`, each of the type its parameter has."""
    hints = get_type_hints(type(domain))
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise ConfigError(f"'--set {setting}' is not of the form KEY=VALUE.")
        values[key] = _convert(key, text, hints.get(key, str))
    return values


def _convert(key: str, text: str, kind: Any) -> Any:
    reader, expected = READERS.get(kind, (json.loads, "valid JSON"))
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise ConfigError(f"'{key}' must be {expected}, not '{text}'.") from None


def read_file(domain: Domain, file: Path) -> list[Grid]:
    """All levels of a file (`-` is standard input); they may differ in size."""
    text = sys.stdin.read() if file == STANDARD_INPUT else read_text(file)
    try:
        found = domain.parse_many(text)
        for level in found:
            domain.for_grid(level)
    except LevelError as error:
        raise error.located(str(file)) from None
    return found


def read_levels(domain: Domain, files: Sequence[Path]) -> tuple[Domain, list[Grid]]:
    """All levels of the files, which must have one size, and the domain at that size."""
    levels: list[Grid] = []
    for file in files:
        found = read_file(domain, file)
        shape = (levels or found)[0].shape
        for index, level in enumerate(found):
            if level.shape != shape:
                reason = (
                    f"level {index} has shape {level.shape}, the first one {shape}; "
                    "levels of one run must have one size"
                )
                raise LevelError(reason, source=str(file))
        levels += found
    return domain.for_grid(levels[0]), levels


def parse_plan(domain: Domain, text: str) -> domains.Actions:
    """Actions from their names, separated by commas or spaces."""
    return domain.spec.action_indices(text.replace(",", " ").split())


def print_json(content: Any) -> None:
    """Prints one JSON document on stdout."""
    typer.echo(json.dumps(content, ensure_ascii=False))


def note(message: str) -> None:
    """Tells a person something on stderr, so that stdout stays clean for programs."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)


@contextmanager
def progress_bar(label: str) -> Iterator[demonstrations.Progress]:
    """Shows how much is done on stderr, while there is a terminal to watch it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
