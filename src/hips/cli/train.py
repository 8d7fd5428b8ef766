"""`hips train`: from demonstrations to a model."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from hips import data
from hips.cli.groups import with_groups
from hips.cli.options import note, progress_bar
from hips.cli.train_options import (
    MaterialOptions,
    RoundEngine,
    RoundOptions,
    RunOptions,
    ScopeOptions,
    TrainedDomain,
)
from hips.cli.verdicts import report_verdict
from hips.domains import create
from hips.domains.base import Domain
from hips.errors import ConfigError, MissingExtraError, is_interrupt
from hips.methods.trial import compared
from hips.models.bundle import require
from hips.models.card import read_card
from hips.training.schedule import SIZES, Size

if TYPE_CHECKING:
    from hips.practice.config import RoundsConfig
    from hips.practice.rounds import Practice
    from hips.training.recipes import Recipe
    from hips.training.run import TrainingJob


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("train")(train_model)


@with_groups
def train_model(
    domain: TrainedDomain,
    material: MaterialOptions,
    scope: ScopeOptions,
    rounds: RoundOptions,
    engine: RoundEngine,
    run: RunOptions,
) -> None:
    """Train the parts of a domain's model, then export and score it.

    Each stage saves a checkpoint every two minutes; repeat the command with --resume to continue.
    At the end, the model is tried on fresh levels and judged in words.
    With --rounds the model then practises: it searches levels, learns from what it met, and is
    kept if it does better on fresh levels.

    For example:

      hips train sliding_tiles --size smoke --out runs/try

      hips train --recipe reproductions/sokoban.json

      hips train sokoban --data data/mine --rounds 5 --teacher own

      hips train sokoban --data data/mine --rounds 5 --engine ray --address auto

      hips train sokoban --data data/more --warm-start sokoban --out runs/more

      torchrun --nproc-per-node 2 -m hips train tsp --resume
    """
    try:
        from hips.engines import LocalEngine
        from hips.training.recipes import gather, read_recipe
        from hips.training.run import MODEL, train
    except ImportError as error:
        raise MissingExtraError(f"Training ({error.name})", "train") from None

    _refuse_sealed(material.data or ())
    recipe = None if scope.recipe is None else read_recipe(scope.recipe)
    own = domain.make(recipe)
    practice = rounds.make(own, recipe)
    if practice is None:
        engine.require_rounds()
    began = time.monotonic()
    job = _job(own, recipe, material, scope, run)
    rehearsal = None if practice is None else _practice(job, practice, engine)
    with _resumable():
        if recipe is not None and not material.data:
            gather(recipe, own, job.out, LocalEngine(run.threads or 2))
        if rehearsal is not None:
            model = rehearsal.run()
        elif train(job).card is None:
            return
        else:
            model = job.out / MODEL
        if run.trial:
            seconds = run.trial_seconds(time.monotonic() - began)
            report_verdict(own, model, read_card(model), seconds, job.threads)
    note(f"done: {model}")
    note(f"next: {_next_command(domain.plugin, own, model)}")


def _practice(job: TrainingJob, rounds: RoundsConfig, engine: RoundEngine) -> Practice:
    """Rounds of practice around a training; what is wrong with their settings shows here."""
    from hips.practice.rounds import Practice, PracticeJob

    searchers = engine.make()
    bar = partial(progress_bar, status=searchers.status)
    return Practice(PracticeJob(job, rounds, searchers, note, bar))


@contextmanager
def _resumable() -> Iterator[None]:
    """After an interruption of what it encloses, names the command that continues."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        if is_interrupt(error):
            note(f"stopped; finished stages and checkpoints are kept. Go on with: {_resumed()}")
        raise


def _resumed() -> str:
    """The command line that continues this run."""
    given = [one for one in sys.argv[1:] if one != "--resume"]
    return shlex.join(["hips", *given, "--resume"])


def _next_command(plugins: Sequence[Path] | None, domain: Domain, model: Path) -> str:
    """A command line that uses the new model, for the domain that it was trained for."""
    loaded = [part for file in plugins or () for part in ("--plugin", str(file))]
    usual = create(domain.name).parameters()
    own = [f"{key}={one}" for key, one in domain.parameters().items() if one != usual[key]]
    given = [part for one in own for part in ("--set", one)]
    command = ["hips", "solve", domain.name, *loaded, *given, "--model", str(model)]
    return shlex.join([*command, "--count", "20"])


def _job(
    domain: Domain,
    recipe: Recipe | None,
    material: MaterialOptions,
    scope: ScopeOptions,
    run: RunOptions,
) -> TrainingJob:
    """The training of the options, on demonstrations that the recipe may still have to collect."""
    from hips import parts
    from hips.parts.blocks.config import mixes
    from hips.training.recipes import configure, folders_of
    from hips.training.run import TrainingJob
    from hips.training.survey import take_survey

    size = scope.size or (recipe.size if recipe else "laptop")
    if size not in SIZES:
        raise ConfigError(f"Unknown size '{size}'. Available: {', '.join(SIZES)}.")
    seed = scope.seed if scope.seed is not None else (recipe.seed if recipe else 0)
    overrides = list(scope.config or ())
    if scope.segmentation is not None:
        overrides.append(f"segmentation.method={scope.segmentation}")
    names = _split(scope.parts) or (recipe.parts if recipe else ())
    present = () if material.warm_start is None else read_card(require(material.warm_start)).parts
    note("looking at the domain: random actions and a few demonstrations")
    survey = take_survey(domain, tuple(material.data or ()), seed)
    config = configure(
        domain, parts.known(), names, cast(Size, size), seed, recipe, overrides, present, survey
    )
    added = [name for name in config.parts if names and name not in names]
    if added:
        note(f"also training what methods need beside {', '.join(names)}: {', '.join(added)}")
    reason = survey.reason(mixes(domain.spec, survey))
    note(f"networks: {reason}")
    folder = run.out or Path("runs") / domain.name
    folders = list(material.data or ())
    if recipe is not None and not folders:
        folders = folders_of(recipe, folder)
    return TrainingJob(
        domain=domain,
        config=config,
        parts=parts.known(),
        out=folder,
        data=tuple(folders),
        labels=tuple(material.labels or ()),
        stages=_split(scope.stages),
        resume=run.resume,
        warm_start=material.warm_start,
        settings={} if recipe is None else recipe.settings,
        recipe={} if recipe is None else recipe.to_json(),
        device=run.device,
        threads=run.free_threads(),
        command=shlex.join(["hips", *sys.argv[1:]]),
        limit_minutes=run.limit_minutes,
        facts={"survey": asdict(survey), "networks": reason},
        trial=run.trial and bool(compared({*config.parts, *present})),
    )


def _refuse_sealed(folders: Sequence[Path]) -> None:
    """Refuses demonstrations of sealed instances."""
    from hips.benchmark import seal

    for folder in folders:
        given = data.load(folder)
        seal.refuse_levels(given.domain, list(given.starts), "`hips train`")


def _split(given: list[str] | None) -> tuple[str, ...]:
    """Splits names at commas."""
    return tuple(name for one in given or () for name in one.split(",") if name)
