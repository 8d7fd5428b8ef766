"""The `hips` command: a thin layer over the package, one module per verb.

Every verb's module has a `register(app)`; heavy imports happen inside the verbs, so that
`hips --help` starts quickly.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from hips import plugins
from hips._version import __version__
from hips.cli import (
    bench,
    collect,
    demo,
    domains,
    explore,
    methods,
    minari,
    models,
    sample,
    show,
    solve,
    train,
    web,
)
from hips.errors import HipsError, is_interrupt
from hips.interrupts import treat_termination_as_interrupt

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="hips",
    help="A complete planner for discrete puzzles with learned subgoals.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _verb in (
    demo,
    domains,
    methods,
    sample,
    show,
    solve,
    web,
    collect,
    minari,
    explore,
    train,
    models,
    bench,
):
    _verb.register(app)


PANELS = {
    "Solve": ("demo", "solve", "web", "sample", "show"),
    "Learn": ("collect", "train", "explore", "models", "export-minari", "import-minari"),
    "Compare": ("bench",),
    "Look up": ("domains", "methods"),
}
"""Groups of `hips --help`, in order."""


def _group_verbs() -> None:
    order = {verb: place for place, verb in enumerate(v for vs in PANELS.values() for v in vs)}
    panel = {verb: name for name, verbs in PANELS.items() for verb in verbs}
    for command in app.registered_commands:
        command.rich_help_panel = panel[str(command.name)]
    for group in app.registered_groups:
        group.rich_help_panel = panel[str(group.name)]
    app.registered_commands.sort(key=lambda entry: order[str(entry.name)])


_group_verbs()


def _contained(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb; what a plug-in raises in it, or its `sys.exit`, becomes an error for people."""

    @functools.wraps(verb)
    def call(*values: Any, **named: Any) -> Any:
        with plugins.blamed(passing=(typer.Exit, typer.Abort, typer.BadParameter)):
            return verb(*values, **named)

    return call


def _contain_verbs(group: typer.Typer) -> None:
    for command in group.registered_commands:
        assert command.callback is not None
        command.callback = _contained(command.callback)
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            _contain_verbs(inner.typer_instance)


_contain_verbs(app)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """A complete planner for discrete puzzles with learned subgoals."""


def main() -> None:
    """Runs the command line: readable errors on stderr instead of tracebacks."""
    treat_termination_as_interrupt()
    try:
        app()
    except (KeyboardInterrupt, Exception) as error:
        if is_interrupt(error):
            Console(stderr=True).print("interrupted")
            sys.exit(INTERRUPTED)
        if (message := _explained(error)) is None:
            raise
        _fail(message)


def _explained(error: BaseException) -> str | None:
    """What to tell the user about an error; None for one that nobody expected."""
    if isinstance(error, HipsError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"Not enough memory ({error}); ask for less."
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return None


def _fail(message: str) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]error:[/] {escape(message)}")
    sys.exit(BAD_INPUT)
