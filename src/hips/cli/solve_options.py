"""The options of `hips solve`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hips.cli.options import MOST_THREADS, JsonOption, ModelOption
from hips.files import check_distinct, check_writable
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.planner.options import DEFAULT_BATCH
from hips.planner.settings import Settings


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """Method, model and device."""

    method: Annotated[
        str | None,
        typer.Option(
            help="Method, such as hips_eps, hips or phs_star; `hips methods` lists all. "
            "Default: the best the model allows."
        ),
    ] = None
    model: ModelOption = None
    settings_set: Annotated[
        str | None,
        typer.Option("--settings", help="A named set of settings: paper."),
    ] = None
    batch: Annotated[int, typer.Option(min=1, help="Levels in lockstep.")] = DEFAULT_BATCH
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_THREADS,
            help="Threads per network call; default: all, or one per worker.",
        ),
    ] = None
    device: Annotated[
        str | None,
        typer.Option(help="Run the networks in torch on cpu, cuda, cuda:1, … or auto."),
    ] = None

    def make(self, settings: Settings) -> Choice:
        """The choice of the options."""
        execution = Execution(self.batch, self.threads, self.device)
        return Choice(self.method, settings, self.settings_set, self.model, execution)


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Output of the results."""

    json: JsonOption = False
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write one JSON line per level, as it is found."),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue --out: solve only levels not in it.")
    ] = False
    gif: Annotated[Path | None, typer.Option(help="Animate the first plan found.")] = None
    tree: Annotated[
        Path | None,
        typer.Option(help="Write the search trees as JSON, or one level's as Graphviz (.dot)."),
    ] = None
    watch: Annotated[bool, typer.Option("--watch", help="Watch the search in the terminal.")] = (
        False
    )

    def check(self, inputs: Sequence[Path]) -> None:
        """Rejects files that cannot be written, or that would overwrite each other or the input."""
        targets = [file for file in (self.out, self.gif, self.tree) if file is not None]
        check_distinct(targets, inputs)
        for target in targets:
            if target != self.out:  # opened, and checked by that, before the first search
                check_writable(target)
