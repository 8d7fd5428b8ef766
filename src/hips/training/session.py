"""One training from start to bundle: data, stages, export."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hips import demonstrations
from hips.demonstrations.dataset import Demonstrations
from hips.demonstrations.labels import load_all as load_labels
from hips.domains import Domain
from hips.errors import DatasetError
from hips.training.config import TrainingConfig
from hips.training.curves import draw_curves
from hips.training.export import export_bundle
from hips.training.pipeline import STAGES, Pipeline, TrainedRun, open_run
from hips.training.progress import Reporter
from hips.training.start import find_start
from hips.training.world import World, join_world


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """What `hips train` was asked to do.

    Attributes:
        domain: to train for.
        config: the resolved configuration.
        out: the run folder; the bundle goes to `out/model`.
        data: dataset folders; none means to collect into `out/data`.
        stages: which stages to run.
        resume: go on with what `out` holds.
        device: torch device, None for the best there is.
        threads: torch threads, None for all cores.
        command: the command line, for the card.
        start: name or folder of a model to start from; None for random weights.
        labels: files of labelled states for the heuristic, beside the demonstrations.
    """

    domain: Domain
    config: TrainingConfig
    out: Path
    data: Sequence[Path] = ()
    stages: Sequence[str] = STAGES
    resume: bool = False
    device: str | None = None
    threads: int | None = None
    command: str = ""
    start: str | Path | None = None
    labels: Sequence[Path] = ()


def train(job: TrainingJob) -> TrainedRun:
    """Trains, and exports the bundle once every stage is finished, here or where it started."""
    start = None if job.start is None else find_start(job.start, job.domain, job.config)
    config = job.config if start is None else replace(job.config, start=start.record())
    with join_world(job.device, job.threads) as world:
        if world.rank == 0:
            job.out.mkdir(parents=True, exist_ok=True)
            open_run(job.out, config, job.resume)
        world.barrier()
        data = _load_data(job, world)
        labels = load_labels(job.labels, job.domain)
        with Reporter(job.out if world.rank == 0 else None) as reporter:
            pipeline = Pipeline(config, data, job.out, world, reporter, labels)
            if start is not None:
                start.load_into(pipeline.networks)
            before = {} if start is None else start.training
            run = replace(pipeline.run(job.stages), before=before)
            if world.rank == 0:
                draw_curves(job.out / "metrics.jsonl", job.out / "curves.png")
                if {*run.reports, *before} == set(STAGES):
                    reporter.message(f"exporting to {job.out / 'model'}")
                    facts = {"data": _data_facts(job, data)}
                    if labels is not None:
                        facts["labels"] = labels.origin
                    export_bundle(run, job.domain, pipeline.valid, job.out / "model", facts)
        return run


def _load_data(job: TrainingJob, world: World) -> Demonstrations:
    folders = list(job.data)
    if not folders:
        folder = job.out / "data"
        if world.rank == 0:
            demonstrations.collect(
                job.domain,
                count=job.config.demonstrations,
                seed=job.config.seed,
                out=folder,
                quality=job.config.quality,
                workers=job.threads or 2,
            )
        world.barrier()
        folders = [folder]
    parts = [demonstrations.load(folder) for folder in folders]
    for folder, part in zip(folders, parts, strict=True):
        if part.domain.name != job.domain.name:
            raise DatasetError(
                f"{folder} holds demonstrations of '{part.domain.name}', not '{job.domain.name}'."
            )
    return demonstrations.concatenate(parts)


def _data_facts(job: TrainingJob, data: Demonstrations) -> dict[str, Any]:
    manifests = data.manifest.get("parts", [data.manifest])
    keys = ("seed", "quality", "counts", "lengths", "levels")
    return {
        "demonstrations": len(data),
        "steps": int(data.offsets[-1]),
        "parts": [{k: m[k] for k in keys if k in m} for m in manifests],
        "command": job.command,
        "finished": time.strftime("%Y-%m-%d"),
    }
