"""`hips train`: from demonstrations to a model."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hips.cli.options import (
    DomainArgument,
    PluginOption,
    SeedOption,
    VariantOption,
    make_domain,
    note,
)
from hips.errors import ConfigError, MissingExtraError

DOMAIN_PREFIX = "domain."


class TrainingSize(StrEnum):
    """How much to train."""

    SMOKE = "smoke"
    LAPTOP = "laptop"
    PAPER = "paper"


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("train")(train_model)


def train_model(
    name: DomainArgument,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="Folder of `hips collect`; repeatable. None: collect first."),
    ] = None,
    size: Annotated[TrainingSize, typer.Option("--size")] = TrainingSize.LAPTOP,
    stages: Annotated[
        list[str] | None,
        typer.Option("--stages", help="Only these, separated by commas; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder; default runs/DOMAIN.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="Name or folder of a model to go on from.")
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            "--labels", help="File of `hips explore` that the heuristic learns too; repeatable."
        ),
    ] = None,
    seed: SeedOption = 0,
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda, cuda:1, …")] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an earlier run.")] = False,
    segmentation: Annotated[
        str | None, typer.Option("--segmentation", help="detector (REINFORCE), dp or events.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Override a setting (vqvae.num_codes=32) or the domain (domain.boxes=6).",
        ),
    ] = None,
    variant: VariantOption = None,
    plugins: PluginOption = None,
) -> None:
    """Train the networks of a domain and export them as a model.

    Each stage is saved every two minutes; after a kill the same command with --resume goes on.

    For example:

      hips train sliding_tiles --size smoke --out runs/try

      hips train sokoban --data data/sokoban --set vqvae.num_codes=32

      hips train sokoban --data data/more --start sokoban --out runs/more

      torchrun --nproc-per-node 2 -m hips train tsp --resume
    """
    try:
        from hips.benchmark.validation import score
        from hips.models import bundle
        from hips.training.config import default_config, override
        from hips.training.pipeline import STAGES
        from hips.training.session import TrainingJob, train
    except ImportError as error:
        raise MissingExtraError(f"Training ({error.name})", "train") from None

    chosen = tuple(",".join(stages).split(",")) if stages else STAGES
    unknown = [stage for stage in chosen if stage not in STAGES]
    if unknown:
        raise ConfigError(f"Unknown stage '{unknown[0]}'. Available: {', '.join(STAGES)}.")
    given = list(settings or ())
    if segmentation is not None:
        given.append(f"segmentation={segmentation}")
    about_domain = [s.removeprefix(DOMAIN_PREFIX) for s in given if s.startswith(DOMAIN_PREFIX)]
    about_training = [s for s in given if not s.startswith(DOMAIN_PREFIX)]
    domain = make_domain(name, variant, about_domain, plugins)
    config = override(default_config(domain, size.value, seed), about_training)
    folder = out or Path("runs") / name
    job = TrainingJob(
        domain=domain,
        config=config,
        out=folder,
        data=tuple(data or ()),
        stages=chosen,
        resume=resume,
        device=device,
        threads=threads,
        command=" ".join(["hips", *sys.argv[1:]]),
        start=start,
        labels=tuple(labels or ()),
    )
    run = train(job)
    model = folder / "model"
    if run.rank == 0 and (model / bundle.CARD).exists():
        note("measuring the validation scores of the card")
        scores = asdict(score(bundle.load(model, domain)))
        bundle.add_to_card(model, {"scores": scores})
        note(f"done: {model}")
