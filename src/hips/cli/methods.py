"""`hips methods`: the available methods."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hips import methods
from hips.cli.options import JsonOption, PluginOption, load_plugins, print_json
from hips.planner.settings import knobs


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("methods")(show_methods)


def show_methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this method with its settings.")
    ] = None,
    plugins: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """List the methods, or show one with its settings.

    For example:

      hips methods

      hips methods hips_eps
    """
    load_plugins(plugins)
    chosen = methods.names() if name is None else (name,)
    found = [methods.get(one) for one in chosen]
    if json:
        print_json(
            [
                {
                    "name": one.name,
                    "label": one.label,
                    "about": one.description,
                    "parts": list(one.parts),
                    "settings": list(one.settings),
                    "defaults": dict(one.defaults),
                    "contrast": one.contrast or None,
                }
                for one in found
            ]
        )
        return
    console = Console()
    table = Table("method", "what it is", "parts it needs", box=None)
    for one in found:
        table.add_row(f"[bold]{one.name}[/]", one.description, ", ".join(one.parts) or "–")
    console.print(table)
    if name is not None:
        console.print(_settings_table(found[0]))


def _settings_table(method: methods.Method) -> Table:
    table = Table("setting", "what it does", "default", "paper", box=None)
    for setting in method.settings:
        knob = knobs()[setting]
        default = method.defaults.get(setting, knob.default)
        paper = "by domain" if callable(knob.paper) else knob.paper
        table.add_row(
            f"--{setting.replace('_', '-')}",
            knob.help,
            "–" if default is None else str(default),
            "–" if knob.paper is None else str(paper),
        )
    return table
