"""Runs the stages in order: loads finished ones, resumes interrupted ones."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hips.domains.base import GridSpec
from hips.errors import ConfigError
from hips.files import read_json, write_json
from hips.seeding import stream_seed
from hips.training import config as configuration
from hips.training.config import TrainingConfig
from hips.training.contract import Part, StageSpec
from hips.training.loop import StageReport, StageRun
from hips.training.progress import Reporter
from hips.training.schedule import Schedule
from hips.training.timing import Timetable, with_steps
from hips.training.workshop import Workshop

FITTED = "fitted.json"
"""The file with the steps of a stage that a time limit shortened."""
SCHEDULE_DEPTH = 4
"""Names in `parts.PART.STAGE.FIELD`."""
SCHEDULED = frozenset(field.name for field in fields(Schedule)) - {"cold_start"}


def build_networks(
    parts: Mapping[str, Part], config: TrainingConfig, spec: GridSpec
) -> dict[str, nn.Module]:
    """The networks of all parts; each draws its weights from a random stream of its own name."""
    networks = {}
    for name, part in parts.items():
        torch.manual_seed(stream_seed(config.seed, "networks", name) % 2**63)
        network = part.build(spec, config.parts[name], config.horizon)
        # 25 % faster on a CPU than channels first.
        networks[name] = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return networks


def ordered_stages(parts: Mapping[str, Part], config: TrainingConfig) -> list[StageSpec]:
    """All stages of the parts, each after those it needs or follows, else in the given order."""
    waiting = [stage for part in parts.values() for stage in part.stages(config)]
    names = {stage.name for stage in waiting}
    ordered: list[StageSpec] = []
    while waiting:
        done = {stage.name for stage in ordered}
        ready = [s for s in waiting if ({*s.needs, *s.after} & names) <= done]
        if not ready:
            loop = ", ".join(stage.name for stage in waiting)
            raise ConfigError(f"These stages depend on each other: {loop}.")
        ordered.append(ready[0])
        waiting.remove(ready[0])
    return ordered


def check_needs(
    stages: Sequence[StageSpec], chosen: Collection[str], finished: Collection[str]
) -> None:
    """Rejects a choice of stages that lacks a dependency."""
    for stage in stages:
        missing = [need for need in stage.needs if need not in chosen and need not in finished]
        if stage.name in chosen and missing:
            raise ConfigError(
                f"Stage '{stage.name}' needs '{missing[0]}' first. Add it to the parts or stages "
                "to train, or warm-start from a model that has it."
            )


def has_begun(folder: Path, stage: str) -> bool:
    """Whether a run folder has weights of a stage, final or not."""
    return (folder / stage).is_dir() and any((folder / stage).glob("*.safetensors"))


def is_finished(folder: Path, stage: str) -> bool:
    """Whether a run folder has the final weights of a stage."""
    return (folder / stage / "done.json").exists()


def run_stages(
    workshop: Workshop,
    stages: Sequence[StageSpec],
    chosen: Collection[str],
    reporter: Reporter,
    finished_before: Collection[str] = (),
    timetable: Timetable | None = None,
) -> dict[str, StageReport]:
    """Runs the chosen stages and loads other finished ones; returns all their reports.

    A timetable with a limit shortens the stages that are still to run.
    """
    folder, config = workshop.folder, workshop.config
    here = [stage.name for stage in stages if is_finished(folder, stage.name)]
    check_needs(stages, chosen, {*here, *finished_before})
    reports: dict[str, StageReport] = {}
    for spec in stages:
        if spec.name not in chosen and spec.name not in here:
            continue
        stage = spec.build(workshop)
        configured, finished = stage.schedule, spec.name in here
        if timetable is not None and not finished:
            stage.schedule = _fitted(spec.name, configured, folder, timetable)
        fresh = spec.part not in config.warm_parts or stage.schedule.cold_start
        run = StageRun(spec.name, stage, folder, config.seed, reporter, workshop.group, fresh)
        reports[spec.name] = report = run.run()
        if timetable is not None:
            seconds = 0.0 if finished else report.seconds
            timetable.finished(spec.name, configured, report.steps if seconds else 0, seconds)
    return reports


def _fitted(stage: str, schedule: Schedule, folder: Path, timetable: Timetable) -> Schedule:
    """The schedule that fits the timetable; an interrupted stage keeps the one it began with."""
    path = folder / stage / FITTED
    if path.exists():
        return with_steps(schedule, int(read_json(path)["steps"]))
    fitted = timetable.fitted(stage, schedule, time.monotonic())
    if fitted != schedule:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"steps": fitted.steps})
    return fitted


def open_run(folder: Path, config: TrainingConfig, parts: Mapping[str, Part], resume: bool) -> None:
    """Creates the run folder, or checks that it holds a run of the same configuration."""
    path = folder / "config.json"
    content = configuration.to_json(config)
    if not path.exists():
        write_json(path, content)
        return
    if not resume:
        raise ConfigError(
            f"{folder} already holds a run; add --resume to continue, or choose another --out."
        )
    # Parsed and written again, so that settings newer than the run take their defaults.
    present = configuration.to_json(configuration.from_json(read_json(path), parts))
    different = _differences(content, present)
    fixed = [name for name in different if not _still_open(name, folder)]
    if fixed:
        raise ConfigError(
            f"{folder} was started with another configuration ('{fixed[0]}' differs). Only "
            "schedules of stages that have not begun may change; choose another --out."
        )
    if different:
        write_json(path, content)


def _differences(first: Any, second: Any, prefix: str = "") -> list[str]:
    """Dotted names of the settings in which two configurations differ."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return [] if first == second else [prefix]
    return [
        found
        for name in sorted({*first, *second})
        for found in _differences(
            first.get(name), second.get(name), f"{prefix}.{name}" if prefix else name
        )
    ]


def _still_open(setting: str, folder: Path) -> bool:
    """Whether a setting is part of the schedule of a stage that has not begun."""
    names = setting.split(".")
    if len(names) != SCHEDULE_DEPTH or names[0] != "parts" or names[3] not in SCHEDULED:
        return False
    return not has_begun(folder, ".".join(names[1:3]))
