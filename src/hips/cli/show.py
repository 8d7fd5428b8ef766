"""`hips show`: shows levels and plans."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hips.arrays import Actions, Grid
from hips.cli.boards import board, has_colours
from hips.cli.groups import with_groups
from hips.cli.levels import read_levels
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
)
from hips.domains import Domain
from hips.domains.records import Level
from hips.errors import ConfigError
from hips.pictures import fitting_cell, plan_frames, save_gif, save_png
from hips.seeding import stream

MOST_SHOWN = 10
OTHER_ROWS = 4
"""Rows of the terminal beside a board: its name, an empty line and the prompt."""


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("show")(show_levels)


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """Pictures to draw."""

    png: Annotated[Path | None, typer.Option("--png", help="Write a picture.")] = None
    gif: Annotated[Path | None, typer.Option("--gif", help="Write an animated plan.")] = None
    plan: Annotated[
        str | None,
        typer.Option("--plan", help="Actions to animate; default: the expert's plan."),
    ] = None
    seed: SeedOption = 0

    def draw(self, domain: Domain, state: Grid) -> None:
        """Writes the requested pictures."""
        if self.png is not None:
            save_png(domain.render(state, fitting_cell(domain)), self.png)
            note(f"wrote {self.png}")
        if self.gif is not None:
            actions = self._actions(domain, state)
            save_gif(plan_frames(domain, state, actions), self.gif)
            note(f"wrote {self.gif} ({len(actions)} steps)")

    def _actions(self, domain: Domain, state: Grid) -> Actions:
        if self.plan is not None:
            return parse_plan(domain, self.plan)
        return domain.expert(state, stream(self.seed, "show"))


@dataclass(frozen=True, slots=True)
class ShownDomain:
    """The domain of the levels."""

    name: Annotated[str, typer.Option("--domain", "-d", help="The domain of the levels.")]
    variant: VariantOption = None
    parameters: SetOption = None
    plugin: PluginOption = None


@with_groups
def show_levels(
    file: Annotated[Path, typer.Argument(help="Level file; - is standard input.")],
    of: ShownDomain,
    pictures: PictureOptions,
    index: Annotated[
        int | None, typer.Option("--index", "-i", min=0, help="Only this level, counted from 0.")
    ] = None,
    colour: Annotated[
        bool | None,
        typer.Option("--ansi/--text", help="Colours or text; default: colours in a terminal."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show levels as text, in colour, as a PNG picture or as an animated GIF of a plan.

    Pictures show the level at --index, or the first one.

    For example:

      hips show levels.txt --domain sokoban

      hips show levels.txt --domain sokoban --index 3 --png level.png

      hips show levels.txt --domain sokoban --gif plan.gif --plan "up,up,left"

      hips sample tsp | hips show - --domain tsp --gif tour.gif
    """
    if pictures.plan is not None and pictures.gif is None:
        raise typer.BadParameter("--plan needs an animation; give --gif FILE as well.")
    own = make_domain(of.name, of.variant, of.parameters, of.plugin)
    found = read_levels(own, [file])
    found.report()
    levels = found.levels
    if index is not None and index >= len(levels):
        raise ConfigError(
            f"{file} holds {len(levels)} levels, counted from 0; --index {index} is too large."
        )
    chosen = list(range(len(levels))) if index is None else [index]
    first = levels[chosen[0]].grid
    pictures.draw(own.for_grid(first), first)
    if json:
        for i in chosen:
            _print_json(own, i, levels[i])
    elif pictures.png is None and pictures.gif is None:
        _print_levels(own, levels, chosen, colour)
    found.exit()


def _print_json(domain: Domain, index: int, level: Level) -> None:
    sized, grid = domain.for_grid(level.grid), level.grid
    goal = bool(sized.is_goal(grid[None])[0])
    shown = {"text": sized.text(grid), "grid": grid.tolist(), "solved": goal}
    print_json({"index": index, "title": level.title, **shown})


def _print_levels(
    domain: Domain, levels: list[Level], chosen: list[int], colour: bool | None
) -> None:
    console = Console(
        force_terminal=colour, color_system="truecolor" if colour else "auto", highlight=False
    )
    in_colour = has_colours(console) if colour is None else colour
    for i in chosen[:MOST_SHOWN]:
        grid, title = levels[i].grid, levels[i].title
        sized = domain.for_grid(grid)
        name = f": {title}" if title and title != str(i) else ""
        console.print(f"level {i} of {len(levels)}{name}", style="dim", markup=False)
        if levels[i].note:
            console.print(levels[i].note, style="dim", markup=False)
        console.print(board(console, sized, grid, OTHER_ROWS, in_colour), soft_wrap=not in_colour)
        console.print()
    if len(chosen) > MOST_SHOWN:
        console.print(f"… and {len(chosen) - MOST_SHOWN} more; choose one with --index.")
