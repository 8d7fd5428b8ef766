"""`hips show`: look at levels and plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hips.cli.options import (
    JsonOption,
    PluginOption,
    SeedOption,
    SetOption,
    VariantOption,
    make_domain,
    note,
    parse_plan,
    print_json,
    read_levels,
)
from hips.domains import Actions, Domain, Grid
from hips.errors import ConfigError
from hips.pictures import ansi, fitting_cell, plan_frames, save_gif, save_png
from hips.seeding import stream

MOST_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("show")(show_levels)


def show_levels(
    file: Annotated[Path, typer.Argument(help="A file of levels; - is standard input.")],
    name: Annotated[str, typer.Option("--domain", "-d", help="The domain of the levels.")],
    index: Annotated[
        int | None, typer.Option("--index", "-i", min=0, help="Only this level, from 0.")
    ] = None,
    colour: Annotated[
        bool | None,
        typer.Option("--ansi/--text", help="Colours or plain text; colours in a terminal."),
    ] = None,
    png: Annotated[Path | None, typer.Option("--png", help="Write a picture.")] = None,
    gif: Annotated[Path | None, typer.Option("--gif", help="Write an animated plan.")] = None,
    plan: Annotated[
        str | None,
        typer.Option("--plan", help="Actions of the animation; the expert's plan if left out."),
    ] = None,
    seed: SeedOption = 0,
    variant: VariantOption = None,
    settings: SetOption = None,
    plugins: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Show levels as text, in colour, as a PNG picture or as an animated GIF of a plan.

    Pictures are of the level at --index, or of the first.

    For example:

      hips show levels.txt --domain sokoban

      hips show levels.txt --domain sokoban --index 3 --png level.png

      hips show levels.txt --domain sokoban --gif plan.gif --plan "up,up,left"

      hips sample tsp | hips show - --domain tsp --gif tour.gif
    """
    if plan is not None and gif is None:
        raise typer.BadParameter("--plan is for an animation; give --gif FILE as well.")
    domain, levels = read_levels(make_domain(name, variant, settings, plugins), [file])
    if index is not None and index >= len(levels):
        raise ConfigError(f"{file} holds {len(levels)} levels, counted from 0; --index {index}.")
    chosen = list(range(len(levels))) if index is None else [index]
    state = levels[chosen[0]]
    if png is not None:
        save_png(domain.render(state, fitting_cell(domain)), png)
        note(f"wrote {png}")
    if gif is not None:
        actions = _plan(domain, state, plan, seed)
        save_gif(plan_frames(domain, state, actions), gif)
        note(f"wrote {gif} ({len(actions)} steps)")
    if json:
        for i in chosen:
            goal = bool(domain.is_goal(levels[i][None])[0])
            text = domain.text(levels[i])
            print_json({"index": i, "text": text, "grid": levels[i].tolist(), "solved": goal})
    elif png is None and gif is None:
        _print_levels(domain, levels, chosen, colour)


def _plan(domain: Domain, state: Grid, plan: str | None, seed: int) -> Actions:
    if plan is not None:
        return parse_plan(domain, plan)
    return domain.expert(state, stream(seed, "show"))


def _print_levels(
    domain: Domain, levels: list[Grid], chosen: list[int], colour: bool | None
) -> None:
    console = Console(
        force_terminal=colour, color_system="truecolor" if colour else "auto", highlight=False
    )
    in_colour = console.is_terminal if colour is None else colour
    for i in chosen[:MOST_SHOWN]:
        console.print(f"level {i} of {len(levels)}", style="dim")
        if in_colour:
            console.print(ansi(domain, levels[i], console.width))
        else:
            console.print(domain.text(levels[i]), markup=False, soft_wrap=True)
        console.print()
    if len(chosen) > MOST_SHOWN:
        console.print(f"… and {len(chosen) - MOST_SHOWN} more; choose one with --index.")
