"""A complete training run: data, stages, export, scores."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from hips.data.dataset import Demonstrations, Trajectories
from hips.data.labels import StateLabels
from hips.data.labels import load_all as load_labels
from hips.domains.base import Domain
from hips.errors import ConfigError, ExpertError
from hips.files import locked
from hips.models import bundle as bundles
from hips.models.card import Card, write_card
from hips.training import scoring
from hips.training.config import TrainingConfig
from hips.training.contract import Part, StageSpec
from hips.training.corpus import Corpus
from hips.training.curves import draw_curves
from hips.training.durations import spell_minutes, trial_seconds
from hips.training.loop import StageReport
from hips.training.loops import without_loops
from hips.training.material import collect_material, load_material
from hips.training.model_folder import calibration_examples, export_model
from hips.training.pipeline import (
    build_networks,
    is_finished,
    open_run,
    ordered_stages,
    run_stages,
)
from hips.training.process_group import ProcessGroup, join_group
from hips.training.progress import Reporter
from hips.training.segmenters import find_segmenter
from hips.training.timing import STEPS_APART, Timetable, expected_seconds, schedule_of
from hips.training.warm_start import WarmStart, find_warm_start
from hips.training.workshop import Workshop

MODEL = "model"
HISTORY = ("data", "labels", "rounds", "best_round", "before")
"""Facts of a warm start that the card of the new model keeps."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """A training run to execute.

    Attributes:
        domain: to train for.
        config: the resolved configuration.
        parts: all registered parts, by name; those in `config` are trained.
        out: the run folder; the model goes to `out/model`.
        data: dataset folders; if empty, data is collected into `out/data`.
        labels: files of labelled states, in addition to the demonstrations.
        stages: stages to run; if empty, all stages of the parts.
        resume: whether to resume the run in `out`.
        warm_start: name or folder of a model to start from; None for random weights.
        settings: recommended search settings, for the card.
        recipe: the recipe that the run follows, for the card.
        device: torch device; None for the best available.
        threads: torch threads; None for all cores.
        command: the command line, for the card.
        limit_minutes: for the whole run; stages are shortened to fit. None for no limit.
        facts: further facts for the card.
        trial: whether a trial follows; the estimate of the time names it.
    """

    domain: Domain
    config: TrainingConfig
    parts: Mapping[str, Part]
    out: Path
    data: Sequence[Path] = ()
    labels: Sequence[Path] = ()
    stages: Sequence[str] = ()
    resume: bool = False
    warm_start: str | Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    threads: int | None = None
    command: str = ""
    limit_minutes: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    trial: bool = False

    @property
    def trained(self) -> dict[str, Part]:
        """The parts to train, in the order of the registry."""
        return {name: part for name, part in self.parts.items() if name in self.config.parts}


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """The output of a training run.

    Attributes:
        networks: of every part, with their final weights.
        reports: of every finished stage.
        card: of the exported model, with scores; None if stages are missing, and in all
            processes but the first.
    """

    networks: Mapping[str, nn.Module]
    reports: Mapping[str, StageReport]
    card: Card | None


def train(job: TrainingJob) -> TrainedRun:
    """Trains; once every stage is finished, exports and scores the model."""
    began, start = time.monotonic(), None
    config = job.config
    if job.warm_start is not None:
        start = find_warm_start(job.warm_start, job.domain, config, job.parts)
        config = dataclasses.replace(config, warm_start=start.record())
    find_segmenter(config.segmentation.method, job.parts.values())  # a wrong name fails here
    stages = ordered_stages(job.trained, config)
    chosen = _chosen(job, stages)
    with join_group(job.device, job.threads, config.precision) as group, ExitStack() as held:
        if group.rank == 0:
            held.enter_context(locked(job.out))
            open_run(job.out, config, job.parts, job.resume)
        group.barrier()
        labels = load_labels(job.labels, job.domain)  # a fault is found before the collection
        with Reporter(job.out if group.rank == 0 else None) as reporter:
            demonstrations = _demonstrations(job, group, reporter)
            workshop = _furnish(job, config, start, demonstrations, labels, group, reporter)
            before = set() if start is None else start.finished_stages()
            waiting = [
                stage
                for stage in stages
                if stage.name in chosen and not is_finished(job.out, stage.name)
            ]
            timetable = _timetable(job, workshop, waiting, reporter, began)
            reports = run_stages(workshop, stages, chosen, reporter, before, timetable)
            card = None
            if group.rank == 0:
                draw_curves(job.out / "metrics.jsonl", job.out / "curves.png")
                open_stages = [s.name for s in stages if s.name not in {*reports, *before}]
                if open_stages:
                    reporter.message(
                        f"not exported yet: {', '.join(open_stages)} to come; continue with "
                        "--resume and without --stages"
                    )
                else:
                    card = _finish(job, workshop, reports, start, demonstrations, reporter)
        return TrainedRun(workshop.networks, reports, card)


def _demonstrations(job: TrainingJob, group: ProcessGroup, reporter: Reporter) -> Demonstrations:
    """What to learn from: the given data, or demonstrations collected by the first process."""
    if job.data:
        return load_material(job.data, job.domain)
    folder = job.out / "data"
    if group.rank == 0:
        limit = None if job.limit_minutes is None else 60 * job.limit_minutes
        collect_material(job.domain, job.config, folder, limit, job.threads or 2, reporter.message)
    group.barrier()
    return load_material([folder], job.domain)


def _timetable(
    job: TrainingJob,
    workshop: Workshop,
    waiting: Sequence[StageSpec],
    reporter: Reporter,
    began: float,
) -> Timetable:
    """What the stages are expected to take, said to the user and checked against the limit."""
    config, examples = workshop.config, calibration_examples(workshop)
    with workshop.group.arithmetic():
        found = expected_seconds(workshop.parts, workshop.networks, config, waiting, examples)
    steps = {stage.name: schedule_of(config, stage.name).steps for stage in waiting}
    now = time.monotonic()
    limit = None
    if job.limit_minutes is not None:
        limit = 60 * job.limit_minutes * (1 - STEPS_APART) - (now - began)
    timetable = Timetable(found, limit, started=now)
    timetable.check(steps, spent=now - began)
    _announce(job, timetable, sum(steps.values()), reporter)
    return timetable


def _announce(job: TrainingJob, timetable: Timetable, steps: int, reporter: Reporter) -> None:
    """Says how long the training takes, and what comes after it."""
    total, after = timetable.total, "export and scores"
    if job.trial:
        longest = trial_seconds(total if timetable.limit is None else min(total, timetable.limit))
        after += f", and a trial of at most {spell_minutes(longest)}"
    count = len(timetable.seconds)
    stages = "1 stage takes" if count == 1 else f"{count} stages take"
    reporter.message(
        f"{steps:,} steps in {stages} about {spell_minutes(total)} at the present speed; then "
        f"follow {after}"
    )
    if timetable.limit is not None and total > timetable.limit:
        reporter.message(f"the stages are shortened: all of it fits {job.limit_minutes:g} minutes")


def _chosen(job: TrainingJob, stages: Sequence[StageSpec]) -> set[str]:
    names = [stage.name for stage in stages]
    unknown = [name for name in job.stages if name not in names]
    if unknown:
        raise ConfigError(f"Unknown stage '{unknown[0]}'. Available: {', '.join(names)}.")
    return set(job.stages or names)


def _furnish(
    job: TrainingJob,
    config: TrainingConfig,
    start: WarmStart | None,
    demonstrations: Demonstrations,
    labels: StateLabels | None,
    group: ProcessGroup,
    reporter: Reporter,
) -> Workshop:
    """Prepares networks and data for the stages."""
    domain = demonstrations.domain
    networks = build_networks(job.trained, config, domain.spec)
    if start is not None:
        start.load_into(networks, config)
        networks = {**networks, **start.other_networks(job.parts, networks)}
    build = partial(Corpus.build, domain=domain, symmetries=config.symmetries)
    train, valid = (demonstrations.trajectories(split) for split in ("train", "validation"))
    recorded = None
    if config.cut_loops:
        recorded = build(train), build(valid)
        train, valid = without_loops(train), without_loops(valid)
        reporter.message(f"cut loops out: {_share(train, recorded[0]):.0%} of the states are left")
    return Workshop(
        domain=domain,
        config=config,
        parts=job.parts,
        networks=networks,
        train=build(train),
        valid=build(valid),
        labels=labels,
        folder=job.out,
        group=group,
        message=reporter.message,
        recorded=recorded,
    )


def _share(shorter: Trajectories, recorded: Corpus) -> float:
    """The share of recorded states that a set of shorter trajectories keeps."""
    return len(shorter.states) / max(1, len(recorded.states))


def _finish(
    job: TrainingJob,
    workshop: Workshop,
    reports: Mapping[str, StageReport],
    start: WarmStart | None,
    demonstrations: Demonstrations,
    reporter: Reporter,
) -> Card:
    """Exports the model and scores it with its own graphs."""
    out = job.out / MODEL
    reporter.message(f"exporting to {out}")
    facts: dict[str, Any] = {**job.facts, "data": _data_facts(job, demonstrations)}
    if workshop.labels is not None:
        facts["labels"] = workshop.labels.origin
    if job.recipe:
        facts["recipe"] = dict(job.recipe)
    if start is not None:
        earlier = start.bundle.card.facts
        facts["before"] = {key: earlier[key] for key in HISTORY if key in earlier}
    card = export_model(workshop, reports, start, out, job.settings, facts)
    reporter.message("scoring the model on held-out demonstrations")
    segmenter = find_segmenter(job.config.segmentation.method, job.parts.values())
    count = scoring.FEW_DEMONSTRATIONS if segmenter.costly else scoring.DEFAULT_DEMONSTRATIONS
    model = bundles.load(out, job.domain)
    try:
        scores = scoring.score(model, job.parts, count)
    except ExpertError as error:
        reporter.message(f"{error}; scoring on the held-out ones of the given demonstrations")
        given = demonstrations.trajectories("validation")
        scores, count = scoring.score(model, job.parts, given=given), len(given)
    card = scoring.with_scores(card, scores, count, scoring.DEFAULT_SEED)
    write_card(out, card)
    return card


def _data_facts(job: TrainingJob, demonstrations: Demonstrations) -> dict[str, Any]:
    manifests = demonstrations.manifest.get("parts", [demonstrations.manifest])
    keys = ("seed", "quality", "counts", "lengths", "levels")
    return {
        "demonstrations": len(demonstrations),
        "steps": int(demonstrations.offsets[-1]),
        "parts": [{k: m[k] for k in keys if k in m} for m in manifests],
        "command": job.command,
        "finished": time.strftime("%Y-%m-%d"),
    }
