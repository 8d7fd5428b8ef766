"""`hips train`: from demonstrations to a model."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import typer

from hips.cli.groups import with_groups
from hips.cli.options import DomainOptions, SeedOption, note
from hips.errors import ConfigError, MissingExtraError
from hips.training.schedule import SIZES, Size


@dataclass(frozen=True, slots=True)
class MaterialOptions:
    """Training data and warm start."""

    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="Dataset folder; repeatable. Default: collect one first."),
    ] = None
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", help="File of `hips explore` for the heuristic; repeatable."),
    ] = None
    warm_start: Annotated[
        str | None, typer.Option("--warm-start", help="Name or folder of a model to start from.")
    ] = None


@dataclass(frozen=True, slots=True)
class ScopeOptions:
    """What to train, and at what scale."""

    parts: Annotated[
        list[str] | None,
        typer.Option("--parts", help="Only these parts, separated by commas; repeatable."),
    ] = None
    stages: Annotated[
        list[str] | None,
        typer.Option("--stages", help="Only these stages, separated by commas; repeatable."),
    ] = None
    size: Annotated[str, typer.Option("--size", help=f"One of {', '.join(SIZES)}.")] = "laptop"
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            metavar="NAME=VALUE",
            help="Override a training setting, e.g. subgoals.num_codes=32; repeatable.",
        ),
    ] = None
    recipe: Annotated[
        Path | None, typer.Option("--recipe", help="JSON file of training settings.")
    ] = None
    segmentation: Annotated[
        str | None, typer.Option("--segmentation", help="events, exact or detector.")
    ] = None
    seed: SeedOption = 0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Run folder and device."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder; default runs/DOMAIN.")
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Resume an earlier run.")] = False
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda, cuda:1, …")] = None
    threads: Annotated[int | None, typer.Option("--threads", min=1)] = None


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("train")(train_model)


@with_groups
def train_model(
    domain: DomainOptions, material: MaterialOptions, scope: ScopeOptions, run: RunOptions
) -> None:
    """Train the parts of a domain's model, then export and score it.

    Each stage saves a checkpoint every two minutes; repeat the command with --resume to continue.

    For example:

      hips train sliding_tiles --size smoke --out runs/try

      hips train sokoban --recipe reproductions/sokoban.json --data data/sokoban

      hips train sokoban --data data/more --warm-start sokoban --out runs/more

      torchrun --nproc-per-node 2 -m hips train tsp --resume
    """
    try:
        from hips import parts
        from hips.training.recipes import configure, read_recipe
        from hips.training.run import MODEL, TrainingJob, train
    except ImportError as error:
        raise MissingExtraError(f"Training ({error.name})", "train") from None

    own = domain.make()
    if scope.size not in SIZES:
        raise ConfigError(f"Unknown size '{scope.size}'. Available: {', '.join(SIZES)}.")
    recipe = None if scope.recipe is None else read_recipe(scope.recipe)
    overrides = list(scope.config or ())
    if scope.segmentation is not None:
        overrides.append(f"segmentation.method={scope.segmentation}")
    names = _split(scope.parts)
    size = cast(Size, scope.size)
    config = configure(own, parts.known(), names, size, scope.seed, recipe, overrides)
    folder = run.out or Path("runs") / own.name
    job = TrainingJob(
        domain=own,
        config=config,
        parts=parts.known(),
        out=folder,
        data=tuple(material.data or ()),
        labels=tuple(material.labels or ()),
        stages=_split(scope.stages),
        resume=run.resume,
        warm_start=material.warm_start,
        settings={} if recipe is None else recipe.settings,
        device=run.device,
        threads=run.threads,
        command=shlex.join(["hips", *sys.argv[1:]]),
    )
    trained = train(job)
    if trained.card is not None:
        note(f"done: {folder / MODEL}")


def _split(given: list[str] | None) -> tuple[str, ...]:
    """Splits names at commas."""
    return tuple(name for one in given or () for name in one.split(",") if name)
