"""The options of `hips train`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hips import machine
from hips.cli.options import (
    MOST_THREADS,
    EngineOptions,
    PluginOption,
    SetOption,
    VariantOption,
    make_domain,
    note,
    parse_parameters,
)
from hips.domains.base import Domain
from hips.engines import LOCAL
from hips.errors import ConfigError
from hips.training.durations import trial_seconds
from hips.training.schedule import SIZES

if TYPE_CHECKING:
    from hips.practice.config import RoundsConfig
    from hips.training.recipes import Recipe


@dataclass(frozen=True, slots=True)
class TrainedDomain:
    """The domain to train for; a recipe names one too."""

    name: Annotated[
        str | None, typer.Argument(metavar="[DOMAIN]", help="Default: the recipe's domain.")
    ] = None
    variant: VariantOption = None
    parameters: SetOption = None
    plugin: PluginOption = None

    def make(self, recipe: Recipe | None) -> Domain:
        """The domain of the options and the recipe."""
        name = self.name or (None if recipe is None else recipe.domain)
        if name is None:
            raise ConfigError("Name a domain (`hips domains` lists them), or give a --recipe.")
        given = [f"{key}={value}" for key, value in (recipe.parameters if recipe else {}).items()]
        return make_domain(name, self.variant, [*given, *(self.parameters or ())], self.plugin)


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
        typer.Option(
            "--parts",
            help="Only these parts and those that methods need beside them, separated by commas; "
            "repeatable.",
        ),
    ] = None
    stages: Annotated[
        list[str] | None,
        typer.Option("--stages", help="Only these stages, separated by commas; repeatable."),
    ] = None
    size: Annotated[
        str | None,
        typer.Option("--size", help=f"One of {', '.join(SIZES)}; default the recipe's, or laptop."),
    ] = None
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            metavar="NAME=VALUE",
            help="Override a training setting, e.g. subgoals.num_codes=32; repeatable.",
        ),
    ] = None
    recipe: Annotated[
        Path | None,
        typer.Option(
            "--recipe", help="JSON file that says how a model is made; see reproductions/."
        ),
    ] = None
    segmentation: Annotated[
        str | None, typer.Option("--segmentation", help="events, exact, alternating or detector.")
    ] = None
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Same seed, same result; default the recipe's, or 0."),
    ] = None


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """Rounds of practice after the first training."""

    rounds: Annotated[
        int | None,
        typer.Option(min=0, help="Search levels, learn from them, keep the better model: R times."),
    ] = None
    teacher: Annotated[
        str | None, typer.Option(help="Who teaches in the rounds: expert, or own (no expert).")
    ] = None
    round_levels: Annotated[int | None, typer.Option(min=1, help="Levels per round.")] = None
    round_expansions: Annotated[
        int | None, typer.Option(min=1, help="Maximum expansions per level in a round.")
    ] = None
    grade: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,…",
            help="Domain parameters of a grade of the curriculum, easiest first; repeatable.",
        ),
    ] = None

    def make(self, domain: Domain, recipe: Recipe | None) -> RoundsConfig | None:
        """The settings of the rounds, over those of the recipe; None for no rounds."""
        from hips.practice.config import RoundsConfig
        from hips.training.config import build

        given: dict[str, Any] = {
            "count": self.rounds,
            "teacher": self.teacher,
            "levels": self.round_levels,
            "max_expansions": self.round_expansions,
        }
        if self.grade:
            given["grades"] = [parse_parameters(domain, grade.split(",")) for grade in self.grade]
        wanted = {name: value for name, value in given.items() if value is not None}
        content = {**({} if recipe is None else recipe.rounds), **wanted}
        rounds: RoundsConfig = build(RoundsConfig, content, "the settings of the rounds")
        return rounds if rounds.count else None


@dataclass(frozen=True, slots=True)
class RoundEngine(EngineOptions):
    """Where the searches of the rounds run."""

    workers: Annotated[
        int, typer.Option("--workers", "-w", min=1, help="Processes that search in the rounds.")
    ] = 1

    def require_rounds(self) -> None:
        """Rejects a cluster where nothing would run on it."""
        if self.engine != LOCAL or self.address is not None:
            raise ConfigError(
                "On a Ray cluster only the searches of rounds run; add --rounds. To train on "
                "several machines use torchrun, see docs/cluster.md."
            )


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Run folder and device."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder; default runs/DOMAIN.")
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Resume an earlier run.")] = False
    limit_minutes: Annotated[
        float | None,
        typer.Option("--limit-minutes", min=0.1, help="Shorten the stages to fit into this time."),
    ] = None
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda, cuda:1, …")] = None
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, max=MOST_THREADS, help="Default: the cores that are free."
        ),
    ] = None
    trial: Annotated[
        bool, typer.Option("--trial/--no-trial", help="Try the finished model on fresh levels.")
    ] = True

    def trial_seconds(self, spent: float) -> float:
        """Seconds for the trial after a training that took `spent`; 0 if none are left."""
        left = None if self.limit_minutes is None else 60 * self.limit_minutes - spent
        return trial_seconds(spent, left)

    def free_threads(self) -> int | None:
        """The threads asked for, else those that are free; None leaves it to the environment."""
        if self.threads is not None or "OMP_NUM_THREADS" in os.environ:
            return self.threads
        free, own = machine.free_cores(), machine.cores()
        if free < own:
            note(f"other programs are busy: {free} of {own} threads (--threads {own} takes all)")
        return free
