"""`hips sample`: samples levels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hips.cli.options import (
    DomainArgument,
    JsonOption,
    PluginOption,
    SeedOption,
    SetOption,
    VariantOption,
    make_domain,
    note,
    print_json,
)
from hips.domains.defaults import require_format
from hips.files import write_text
from hips.seeding import stream


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("sample")(sample_levels)


def sample_levels(
    name: DomainArgument,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many levels.")] = 1,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output file; default: stdout.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="A format of the domain; default: its first.")
    ] = None,
    variant: VariantOption = None,
    settings: SetOption = None,
    plugins: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Sample solvable levels of a domain.

    For example:

      hips sample sokoban --count 100 --seed 7 --out levels.txt

      hips sample tsp --set cities=10 --format tsplib

      hips sample sokoban --format pddl --out level.pddl

      hips sample box_world --json
    """
    domain = make_domain(name, variant, settings, plugins)
    chosen = format or domain.formats[0]
    require_format(domain, chosen)
    states = domain.sample(stream(seed, "sample"), count)
    if json:
        for index, state in enumerate(states):
            print_json({"index": index, "text": domain.text(state), "grid": state.tolist()})
        return
    text = domain.export(list(states), chosen)
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(out, text)
        note(f"wrote {count} level{'s' * (count > 1)} to {out}")
