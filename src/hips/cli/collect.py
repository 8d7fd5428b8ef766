"""`hips collect`: demonstrations by a domain's expert."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hips import data
from hips.cli.groups import with_groups
from hips.cli.options import (
    AddressOption,
    DomainOptions,
    EngineOption,
    JsonOption,
    SeedOption,
    note,
    print_json,
    progress_bar,
    read_levels,
)
from hips.domains import parse_quality
from hips.engines import LOCAL, make_engine
from hips.errors import is_interrupt
from hips.machine import cores


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

    @property
    def skill(self) -> float:
        """The quality as a number."""
        if self.quality is not None:
            return parse_quality(self.quality)
        return 0.0 if self.preset is CollectionPreset.PAPER else 1.0


@with_groups
def collect_demonstrations(
    domain: DomainOptions,
    amount: AmountOptions,
    out: Annotated[Path, typer.Option("--out", "-o", help="Dataset folder.")],
    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", help="Solve levels from a file instead; repeatable."),
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
    """
    from hips.benchmark import seal

    own = domain.make()
    starts = None
    if levels:
        own, starts = read_levels(own, levels)
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
            )
    except (KeyboardInterrupt, SystemError) as error:
        if is_interrupt(error):
            note("interrupted; repeat the command to resume")
        raise
    if json:
        print_json(dataset.manifest)
    else:
        _report(dataset, out)


def _report(dataset: data.Demonstrations, out: Path) -> None:
    manifest = dataset.manifest
    counts, lengths, levels = manifest["counts"], manifest["lengths"], manifest["levels"]
    note(
        f"{out}: {counts['demonstrations']} demonstrations "
        f"({counts['train']} for training, {counts['validation']} for validation), "
        f"{counts['steps']} steps, mean length {lengths.get('mean', 0):.1f}"
    )
    if levels["expert_failed"] or levels["already_solved"]:
        note(
            f"of {levels['tried']} levels, the expert failed on {levels['expert_failed']}; "
            f"{levels['already_solved']} were already solved"
        )
