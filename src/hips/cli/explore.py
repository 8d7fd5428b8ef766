"""`hips explore`: states that a search meets, labelled by the domain's expert."""

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
    progress_bar,
    read_levels,
)
from hips.domains import Grid
from hips.files import write_text
from hips.seeding import stream


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("explore")(explore_levels)


def explore_levels(
    name: DomainArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the labelled states (.npz).")],
    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", "-l", help="File of levels to search; repeatable."),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, help="Fresh levels, if no file is given.")
    ] = 1000,
    expansions: Annotated[int, typer.Option(min=1, help="Most expansions per level.")] = 50,
    model: Annotated[
        str | None, typer.Option(help="Name or folder of a model; by default the domain's.")
    ] = None,
    starts: Annotated[
        Path | None,
        typer.Option(help="File for some of the states with a way on, as levels to collect from."),
    ] = None,
    starts_count: Annotated[int, typer.Option(min=1, help="How many of them, at most.")] = 10_000,
    seed: SeedOption = 0,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes.")] = 1,
    variant: VariantOption = None,
    settings: SetOption = None,
    plugins: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Search levels and ask the expert about every state that was expanded.

    Where the search finds no plan, the states of the expert's plan are asked about too. The
    heuristic learns from them what dead ends are: `hips train --labels FILE`. With --starts some of
    the states become levels: the expert's demonstrations from where a search goes teach subgoals
    and policies what to do there (`hips collect --levels FILE`).

    For example:

      hips explore sokoban --count 2000 --out labels.npz

      hips explore sokoban --count 2000 --out labels.npz --starts met.txt --starts-count 5000
    """
    from hips.demonstrations import labels
    from hips.planner.explore import explore

    domain = make_domain(name, variant, settings, plugins)
    searched: int | list[Grid] = count
    if levels:
        domain, searched = read_levels(domain, levels)
    with progress_bar(f"exploring {domain.name}") as progress:
        found = explore(
            domain,
            searched,
            seed,
            expansions,
            model=model,
            num_workers=workers,
            progress=progress,
        )
    labels.save(found, out)
    if starts is not None:
        chosen = found.living(stream(seed, "starts"), starts_count)
        write_text(starts, domain.export(list(chosen), domain.formats[0]))
        note(f"{starts}: {len(chosen):,} states to start from")
    if json:
        print_json(found.origin)
    else:
        note(f"{out}: {len(found):,} states, {found.origin['dead_ends']:,} of them dead ends")
