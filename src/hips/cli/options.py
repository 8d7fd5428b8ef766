"""Options shared by several verbs, and their conversion."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from hips import assignments, data, domains, plugins
from hips.arrays import Actions
from hips.cli.groups import parse_memory
from hips.domains.base import Domain
from hips.domains.records import Level
from hips.engines import LOCAL, Engine, make_engine
from hips.errors import HipsError, LevelError
from hips.files import file_lines, stream_lines
from hips.planner.budget import Budget

DomainArgument = Annotated[
    str, typer.Argument(metavar="DOMAIN", help="Name of a domain; `hips domains` lists them.")
]
VariantOption = Annotated[
    str | None, typer.Option("--variant", help="A named parameter set of the domain.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a domain parameter; repeatable."),
]
PluginOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py",
        help="Python file that registers domains, parts or methods; repeatable.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ModelOption = Annotated[
    str | None, typer.Option("--model", help="Name or folder of a model; default: the domain's.")
]
EngineOption = Annotated[
    str, typer.Option("--engine", help="local: processes, or ray: a Ray cluster.")
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="Ray cluster to join; default: one on this machine."),
]

STANDARD_INPUT = Path("-")
MOST_THREADS = 4096
MAX_COUNT = 10**8
"""Most levels that one command samples."""


@dataclass(frozen=True, slots=True)
class DomainOptions:
    """The choice of domain."""

    name: DomainArgument
    variant: VariantOption = None
    parameters: SetOption = None
    plugin: PluginOption = None

    def make(self) -> Domain:
        """The domain of the options."""
        return make_domain(self.name, self.variant, self.parameters, self.plugin)


@dataclass(frozen=True, slots=True)
class BudgetOptions:
    """Limits of a search."""

    max_expansions: Annotated[int | None, typer.Option(min=0, help="Nodes per level.")] = None
    max_seconds: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds per level, excluding time spent on other levels."),
    ] = None
    max_memory: Annotated[
        str | None, typer.Option(help="Memory for the nodes of a level, e.g. 500M or 2G.")
    ] = None
    max_total_seconds: Annotated[
        float | None, typer.Option(min=0, help="Seconds for all levels together.")
    ] = None

    def make(self) -> Budget:
        """The budget."""
        return Budget(
            self.max_expansions,
            self.max_seconds,
            parse_memory(self.max_memory),
            self.max_total_seconds,
        )


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where tasks run."""

    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes.")] = 1
    engine: EngineOption = LOCAL
    address: AddressOption = None

    @property
    def is_alone(self) -> bool:
        """Whether tasks run one after the other on this machine."""
        return self.engine == LOCAL and self.workers == 1

    def make(self) -> Engine:
        """The engine."""
        return make_engine(self.engine, self.workers, self.address)


def load_plugins(files: Sequence[Path] | None) -> None:
    """Loads the files of `--plugin`."""
    for file in files or ():
        plugins.load(file)


def make_domain(
    name: str,
    variant: str | None = None,
    parameters: Sequence[str] | None = None,
    plugin: Sequence[Path] | None = None,
) -> Domain:
    """The domain of the common options."""
    load_plugins(plugin)
    default = domains.create(name)
    return domains.create(name, variant, **parse_parameters(default, parameters or ()))


def parse_parameters(domain: Domain, given: Sequence[str]) -> dict[str, Any]:
    """The values of `--set key=value`, converted to the parameters' types."""
    hints = get_type_hints(type(domain))
    pairs = [assignments.split(one) for one in given]
    return {key: assignments.convert(key, text, hints.get(key, str)) for key, text in pairs}


def scan_lines(file: Path) -> Iterator[str]:
    """The lines of a file (`-` is standard input), as they are needed."""
    if file != STANDARD_INPUT:
        return file_lines(file)
    if sys.stdin is None:
        raise HipsError("-: standard input is closed.")
    return stream_lines(sys.stdin.buffer, str(file))


def scan_file(
    domain: Domain, file: Path, on_line: Callable[[str], None] | None = None
) -> Iterator[Level | LevelError]:
    """The levels of a file, as they are needed; sizes may differ.

    Args:
        domain: reads the levels.
        file: the file; `-` is standard input.
        on_line: called with every line.
    """
    lines = scan_lines(file)
    for level in domain.read(lines if on_line is None else _noticed(lines, on_line)):
        yield level.located(str(file)) if isinstance(level, LevelError) else level


def _noticed(lines: Iterator[str], on_line: Callable[[str], None]) -> Iterator[str]:
    for line in lines:
        on_line(line)
        yield line


def parse_plan(domain: Domain, text: str) -> Actions:
    """Actions from names separated by commas or spaces."""
    return domain.spec.action_indices(text.replace(",", " ").split())


def print_json(content: Any) -> None:
    """Prints one JSON document on stdout."""
    typer.echo(json.dumps(content, ensure_ascii=False))


def note(message: str) -> None:
    """Prints a message on stderr, so that stdout stays clean for programs."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)


class StatusColumn(ProgressColumn):
    """What an engine says about itself, asked whenever the bar is drawn."""

    def __init__(self, status: Callable[[], str]) -> None:
        super().__init__()
        self.status = status

    def render(self, task: Task) -> Text:
        """The status."""
        return Text(self.status())


def make_bar(*columns: ProgressColumn) -> Progress:
    """A bar on stderr; off without a terminal, where it would leave an empty line."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def progress_bar(label: str, status: Callable[[], str] = str) -> Iterator[data.Progress]:
    """Shows progress on stderr if it is a terminal, and what the engine says about itself."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        StatusColumn(status),
        TimeRemainingColumn(),
    )
    with make_bar(*columns) as bar:
        task = bar.add_task(label, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show
