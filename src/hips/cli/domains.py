"""`hips domains`: the available domains."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from hips import domains
from hips.cli.options import (
    JsonOption,
    PluginOption,
    SetOption,
    VariantOption,
    load_plugins,
    make_domain,
    print_json,
)
from hips.domains import Domain
from hips.pictures import ansi
from hips.seeding import stream

EXAMPLE_SEED = 0


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("domains")(show_domains)


def show_domains(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this domain in detail.")
    ] = None,
    variant: VariantOption = None,
    settings: SetOption = None,
    plugins: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """List the domains, or show one in detail with an example.

    For example:

      hips domains

      hips domains sokoban

      hips domains sliding_tiles --set height=3 --set width=3

      hips domains lights_out --plugin examples/lights_out.py
    """
    load_plugins(plugins)
    if name is not None:
        domain = make_domain(name, variant, settings)
        if json:
            print_json(describe(domain))
        else:
            _print_detail(domain)
        return
    if variant is not None or settings:
        raise typer.BadParameter("--variant and --set need the NAME of a domain.")
    every = [domains.create(known) for known in domains.names()]
    if json:
        print_json([describe(domain) for domain in every])
    else:
        _print_list(every)


def describe(domain: Domain) -> dict[str, Any]:
    """A domain as JSON-compatible data."""
    spec = domain.spec
    return {
        "name": domain.name,
        "summary": summary(domain),
        "height": spec.height,
        "width": spec.width,
        "symbols": list(spec.symbols),
        "actions": list(spec.actions),
        "parameters": domain.parameters(),
        "variants": {name: dict(values) for name, values in domain.variants.items()},
        "formats": list(domain.formats),
        "preset": dataclasses.asdict(domain.preset),
    }


def summary(domain: Domain) -> str:
    """The first line of the domain's docstring."""
    lines = (type(domain).__doc__ or "").strip().splitlines()
    return lines[0] if lines else ""


def _print_list(every: list[Domain]) -> None:
    table = Table("domain", "grid", "symbols", "actions", "variants", "what it is", box=None)
    for domain in every:
        spec = domain.spec
        table.add_row(
            f"[bold]{domain.name}[/]",
            f"{spec.height}×{spec.width}",
            str(spec.num_symbols),
            str(spec.num_actions),
            ", ".join(domain.variants) or "–",
            summary(domain),
        )
    console = Console()
    console.print(table)
    console.print("\n`hips domains NAME` shows one in detail.", style="dim")


def _print_detail(domain: Domain) -> None:
    spec = domain.spec
    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("domain", f"{domain.name}: {summary(domain)}")
    table.add_row("grid", f"{spec.height} rows × {spec.width} columns")
    table.add_row("parameters", _pairs(domain.parameters()))
    for variant, values in domain.variants.items():
        table.add_row(f"variant {variant}", _pairs(values))
    table.add_row("actions", ", ".join(spec.actions))
    table.add_row("symbols", ", ".join(spec.symbols))
    table.add_row("formats", ", ".join(domain.formats))
    table.add_row("preset", _pairs(dataclasses.asdict(domain.preset)))
    console = Console()
    console.print(table)
    state = domain.sample(stream(EXAMPLE_SEED, "example"), 1)[0]
    console.print("\nAn example:\n")
    if console.is_terminal:
        console.print(ansi(domain, state, console.width))
        console.print()
    console.print(domain.text(state), markup=False, highlight=False)


def _pairs(values: Any) -> str:
    return ", ".join(f"{key}={value}" for key, value in dict(values).items()) or "none"
