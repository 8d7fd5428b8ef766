"""`hips explore`: states that a search expands, labelled by the domain's expert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hips.arrays import Grid
from hips.cli.groups import with_groups
from hips.cli.levels import equal_sized, read_levels
from hips.cli.options import (
    DomainOptions,
    EngineOptions,
    JsonOption,
    ModelOption,
    SeedOption,
    note,
    print_json,
    progress_bar,
)
from hips.errors import is_interrupt
from hips.files import check_distinct, check_writable, is_special, require_new, write_text
from hips.seeding import stream


@dataclass(frozen=True, slots=True)
class ExploredLevels:
    """The levels to search and the limit of each search."""

    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", "-l", help="Level file to search; repeatable."),
    ] = None
    count: Annotated[
        int,
        typer.Option(
            "--count", "-n", min=1, max=10**8, help="Levels to sample, if no file is given."
        ),
    ] = 1000
    seed: SeedOption = 0
    max_expansions: Annotated[int, typer.Option(min=1, help="Maximum expansions per level.")] = 50


@dataclass(frozen=True, slots=True)
class ExploredOutput:
    """Output files."""

    out: Annotated[Path, typer.Option("--out", "-o", help="New file for labelled states (.npz).")]
    export_levels: Annotated[
        Path | None,
        typer.Option(help="File for some of the solvable states, as levels for `hips collect`."),
    ] = None
    export_count: Annotated[int, typer.Option(min=1, help="Maximum exported levels.")] = 10_000
    json: JsonOption = False

    def check(self, inputs: Sequence[Path]) -> None:
        """Rejects files that cannot be written, overwrite each other or the input, or exist."""
        targets = [file for file in (self.out, self.export_levels) if file is not None]
        check_distinct(targets, inputs)
        for target in targets:
            check_writable(target)
        require_new(self.out)


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("explore")(explore_levels)


@with_groups
def explore_levels(
    domain: DomainOptions,
    searched: ExploredLevels,
    output: ExploredOutput,
    engine: EngineOptions,
    model: ModelOption = None,
) -> None:
    """Search levels and label every expanded state with the expert.

    If the search finds no plan, the states of the expert's plan are labelled too. The labels teach
    the heuristic to recognise dead ends: `hips train --labels FILE`. With --export-levels, some of
    the states become levels; demonstrations from there (`hips collect --levels FILE`) train
    subgoals and policies on the states that a search visits.

    For example:

      hips explore sokoban --count 2000 --out labels.npz

      hips explore sokoban --count 2000 --out labels.npz --export-levels met.txt
    """
    from hips.benchmark import seal
    from hips.data import labels
    from hips.methods.choosing import Choice
    from hips.practice.exploring import Exploration, explore
    from hips.practice.lessons import LessonFiles
    from hips.practice.searching import Workplace

    own = domain.make()
    output.check(searched.levels or ())
    levels: int | list[Grid] = searched.count
    if searched.levels:
        read = read_levels(own, searched.levels)
        read.report()
        own, levels = equal_sized(own, read.levels)
        seal.refuse_levels(own, levels, "`hips explore`")
    files = None if is_special(output.out) else LessonFiles.beside(output.out)
    how = Exploration(
        searched.seed, searched.max_expansions, Choice(model=model, learned_only=True)
    )
    workers = engine.make()
    try:
        with progress_bar(f"exploring {own.name}", workers.status) as progress:
            found = explore(own, levels, how, Workplace(workers, files, progress))
    except (KeyboardInterrupt, SystemError) as error:
        if is_interrupt(error):
            note("interrupted; repeat the command to resume")
        raise
    if output.export_levels is not None:
        chosen = found.solvable(stream(searched.seed, "starts"), output.export_count)
        write_text(output.export_levels, own.export(list(chosen), own.formats[0]))
        note(f"{output.export_levels}: {len(chosen):,} levels")
    labels.save(found, output.out)  # last: once it exists, the command is not repeated
    if files is not None:
        files.remove()
    if output.json:
        print_json(found.origin)
    else:
        dead = found.origin["dead_ends"]
        note(f"{output.out}: {len(found):,} states, {dead:,} of them dead ends")
