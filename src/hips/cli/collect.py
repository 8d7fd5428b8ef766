"""`hips collect`: demonstrations by a domain's expert."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hips import demonstrations
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
from hips.domains import parse_quality
from hips.errors import is_interrupt
from hips.workers import cores


class CollectionPreset(StrEnum):
    """How much to collect, and how good, unless told otherwise."""

    DEFAULT = "default"
    PAPER = "paper"


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("collect")(collect_demonstrations)


def collect_demonstrations(
    name: DomainArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the dataset.")],
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Demonstrations to collect.")
    ] = None,
    seed: SeedOption = 0,
    quality: Annotated[
        str | None,
        typer.Option("--quality", help="paper, mixed, good, best, or a number from 0 to 1."),
    ] = None,
    preset: Annotated[
        CollectionPreset,
        typer.Option("--preset", help="Count and quality: ours, or those of the paper."),
    ] = CollectionPreset.DEFAULT,
    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", help="Solve the levels of a file instead; repeatable."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes; one per core.")
    ] = None,
    variant: VariantOption = None,
    settings: SetOption = None,
    plugins: PluginOption = None,
    json: JsonOption = False,
) -> None:
    """Collect demonstrations: the expert's plans, verified and ready to train on.

    The same settings give the same dataset, whatever the number of workers. A collection that was
    interrupted goes on where it stopped; give the same command again. A larger --count extends it.

    For example:

      hips collect sokoban --count 10000 --seed 1 --out data/sokoban

      hips collect sliding_tiles --preset paper --out data/tiles-paper

      hips collect sokoban --levels boxoban/000.txt --levels boxoban/001.txt --out data/boxoban
    """
    domain = make_domain(name, variant, settings, plugins)
    starts = None
    if levels:
        domain, starts = read_levels(domain, levels)
    paper = preset is CollectionPreset.PAPER
    if count is None:
        usual = domain.preset.paper_demonstrations if paper else domain.preset.demonstrations
        count = usual if starts is None else len(starts)
    level_of_skill = 0.0 if paper else domain.preset.quality
    if quality is not None:
        level_of_skill = parse_quality(quality)
    try:
        with progress_bar(f"collecting {domain.name}") as progress:
            dataset = demonstrations.collect(
                domain,
                count=count,
                seed=seed,
                out=out,
                quality=level_of_skill,
                workers=workers or cores(),
                levels=starts,
                progress=progress,
            )
    except (KeyboardInterrupt, SystemError) as error:
        if is_interrupt(error):
            note("interrupted; the same command goes on where it stopped")
        raise
    if json:
        print_json(dataset.manifest)
    else:
        _report(dataset, out)


def _report(dataset: demonstrations.Demonstrations, out: Path) -> None:
    manifest = dataset.manifest
    counts, lengths, levels = manifest["counts"], manifest["lengths"], manifest["levels"]
    note(
        f"{out}: {counts['demonstrations']} demonstrations "
        f"({counts['train']} to train, {counts['validation']} to validate), "
        f"{counts['steps']} steps, mean length {lengths.get('mean', 0):.1f}"
    )
    if levels["expert_failed"] or levels["already_solved"]:
        note(
            f"of {levels['tried']} levels the expert failed on {levels['expert_failed']}; "
            f"{levels['already_solved']} were solved from the start"
        )
