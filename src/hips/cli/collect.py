"""`hips collect`: demonstrations by a domain's expert."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hips import data
from hips.cli.groups import with_groups
from hips.cli.levels import equal_sized, read_levels
from hips.cli.options import (
    AddressOption,
    DomainOptions,
    EngineOption,
    JsonOption,
    SeedOption,
    note,
    print_json,
    progress_bar,
    scan_lines,
)
from hips.domains import Domain, Preset, parse_quality
from hips.engines import LOCAL, make_engine
from hips.errors import ConfigError, is_interrupt
from hips.machine import cores
from hips.planner.outcomes import Outcome


class CollectionPreset(StrEnum):
    """Default amount and quality of demonstrations."""

    DEFAULT = "default"
    PAPER = "paper"


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("collect")(collect_demonstrations)


@dataclass(frozen=True, slots=True)
class AmountOptions:
    """Amount and quality of demonstrations."""

    count: Annotated[
        int | None,
        typer.Option("--count", "-n", min=1, max=10**8, help="Demonstrations to collect."),
    ] = None
    seed: SeedOption = 0
    quality: Annotated[
        str | None,
        typer.Option("--quality", help="paper, mixed, good, best, or a number from 0 to 1."),
    ] = None
    preset: Annotated[
        CollectionPreset,
        typer.Option("--preset", help="default: near-optimal; paper: as in the paper."),
    ] = CollectionPreset.DEFAULT
    longest: Annotated[
        int | None,
        typer.Option(
            "--longest", min=0, help="Drop plans with more steps; 0 for no limit. Default: 0."
        ),
    ] = None

    @property
    def skill(self) -> float:
        """The quality as a number."""
        if self.quality is not None:
            return parse_quality(self.quality)
        return 0.0 if self.preset is CollectionPreset.PAPER else 1.0

    def limit(self, preset: Preset) -> int:
        """Steps of the longest plan to keep, for a domain's preset; 0 for no limit."""
        if self.longest is not None:
            return self.longest
        return preset.longest_demonstration if self.preset is CollectionPreset.PAPER else 0


@with_groups
def collect_demonstrations(
    domain: DomainOptions,
    amount: AmountOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="Dataset folder.")],
    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", help="Solve levels from a file instead; repeatable."),
    ] = None,
    plans: Annotated[
        Path | None,
        typer.Option("--from", help="Import your own plans: JSON lines of level and actions."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes; default: one per core.")
    ] = None,
    engine: EngineOption = LOCAL,
    address: AddressOption = None,
    json: JsonOption = False,
) -> None:
    """Collect demonstrations: the expert's plans, verified and ready to train on.

    The same settings give the same dataset, regardless of the number of workers. To resume an
    interrupted collection, repeat the command. A larger --count extends a dataset.

    For example:

      hips collect sokoban --count 10000 --seed 1 --out data/sokoban

      hips collect sliding_tiles --preset paper --out data/tiles-paper

      hips collect sokoban --levels boxoban/000.txt --levels boxoban/001.txt --out data/boxoban

      hips collect sokoban --from my_plans.jsonl --out data/mine
    """
    from hips.benchmark import seal

    own = domain.make()
    if plans is not None:
        if levels:
            raise ConfigError("--from brings its own levels; leave out --levels.")
        _import(own, plans, out, json)
        return
    starts, read = None, None
    if levels:
        read = read_levels(own, levels)
        read.report()
        own, starts = equal_sized(own, read.levels)
        seal.refuse_levels(own, starts, "`hips collect`")
    usual = own.preset.demonstrations if starts is None else len(starts)
    runs_on = make_engine(engine, workers or cores(), address)
    try:
        with progress_bar(f"collecting {own.name}", runs_on.status) as progress:
            dataset = data.collect(
                own,
                count=amount.count or usual,
                seed=amount.seed,
                out=out,
                quality=amount.skill,
                engine=runs_on,
                levels=starts,
                progress=progress,
                longest=amount.limit(own.preset),
            )
    except (KeyboardInterrupt, SystemError) as error:
        if is_interrupt(error):
            note("interrupted; repeat the command to resume")
        raise
    if json:
        print_json(dataset.manifest)
    else:
        _report(dataset, out)
    if read is not None:
        read.exit()


def _import(domain: Domain, file: Path, out: Path, json: bool) -> None:
    """Imports the user's own plans; the exit code is 2 if a line was refused."""
    found = data.read_plans(domain, scan_lines(file), str(file))
    for error in found.refused:
        note(f"refused: {error}")
    dataset = data.save(found.demonstrations, out)
    if json:
        print_json(dataset.manifest)
    else:
        _report(dataset, out)
    if found.refused:
        raise typer.Exit(Outcome.INVALID_INPUT.exit_code)


def _report(dataset: data.Demonstrations, out: Path) -> None:
    manifest = dataset.manifest
    counts, lengths, levels = manifest["counts"], manifest["lengths"], manifest.get("levels")
    note(
        f"{out}: {counts['demonstrations']} demonstrations "
        f"({counts['train']} for training, {counts['validation']} for validation), "
        f"{counts['steps']} steps, mean length {lengths.get('mean', 0):.1f}"
    )
    for remark in data.advice(dataset):
        note(remark)
    if levels is not None and counts["demonstrations"] < levels["tried"]:
        note(
            f"of {levels['tried']} levels, the expert failed on {levels['expert_failed']}; "
            f"{levels['already_solved']} were already solved, {levels['too_long']} plans too long"
        )
