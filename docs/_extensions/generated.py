"""Reference pages made from the code: the command line, settings, methods and outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer.main
from typer.core import TyperArgument

from hips import methods
from hips.cli import app as command_line
from hips.planner.outcomes import Outcome
from hips.planner.settings import knobs


def command_page() -> str:
    """Every verb with its help text and options."""
    root = typer.main.get_command(command_line)
    lines = ["# Commands", "", "Made from the code; `hips VERB --help` prints the same."]
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]
        lines += ["", *_command(f"hips {name}", command, 2)]
        for part, inner in sorted(getattr(command, "commands", {}).items()):
            lines += ["", *_command(f"hips {name} {part}", inner, 3)]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command, depth: int) -> Iterator[str]:
    yield f"{'#' * depth} {name}"
    yield ""
    yield from _help(command.help or "")
    options = [one for one in command.params if "--help" not in one.opts]
    if not options:
        return
    yield ""
    yield "| option | meaning |"
    yield "|---|---|"
    for one in options:
        given = str(one.name).upper() if isinstance(one, TyperArgument) else ", ".join(one.opts)
        text = " ".join((getattr(one, "help", "") or "").split()).replace("|", "\\|")
        yield f"| `{given}` | {text} |"


def _help(text: str) -> Iterator[str]:
    """Help text; its indented examples become a block of commands."""
    examples = [line.strip() for line in text.splitlines() if line.startswith("  ")]
    yield from (line for line in text.splitlines() if not line.startswith("  "))
    if examples:
        yield ""
        yield from ("```text", *examples, "```")


def settings_page() -> str:
    """Every search setting."""
    lines = [
        "# Settings",
        "",
        "Made from `hips.Settings`. An unset setting comes from the named set, the method, the "
        "model's card and the default, in this order.",
        "",
        "| setting | default | paper | range | meaning |",
        "|---|---|---|---|---|",
    ]
    for name, knob in knobs().items():
        paper = "by domain" if callable(knob.paper) else knob.paper
        allowed = ", ".join(knob.choices()) if knob.choices else knob.range()
        values = ("–" if value is None else value for value in (knob.default, paper))
        lines.append(f"| `{name}` | {' | '.join(map(str, values))} | {allowed} | {knob.help} |")
    return "\n".join(lines) + "\n"


def names_page() -> str:
    """Methods and outcomes."""
    lines = ["# Methods and outcomes", ""]
    lines += ["| method | name in reports | what it does |", "|---|---|---|"]
    for name in methods.names():
        method = methods.get(name)
        lines.append(f"| `{name}` | {method.label} | {method.about} |")
    ends = "A search ends with one of these outcomes ([their meaning](../reference/search.md)):"
    lines += ["", ends, ""]
    lines += [f"- `{outcome.value}`" for outcome in Outcome]
    return "\n".join(lines) + "\n"


PAGES = {"commands.md": command_page, "settings.md": settings_page, "methods.md": names_page}


def write(folder: Path) -> None:
    """Writes all pages whose content changed."""
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        path, text = folder / name, make()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Any) -> dict[str, bool]:
    """Writes the pages before Sphinx looks for sources."""
    write(Path(app.srcdir) / "generated")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
