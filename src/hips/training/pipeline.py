"""Runs the stages in order: loads finished ones, resumes interrupted ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

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
from hips.training.workshop import Workshop


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


def is_finished(folder: Path, stage: str) -> bool:
    """Whether a run folder has the final weights of a stage."""
    return (folder / stage / "done.json").exists()


def run_stages(
    workshop: Workshop,
    stages: Sequence[StageSpec],
    chosen: Collection[str],
    reporter: Reporter,
    finished_before: Collection[str] = (),
) -> dict[str, StageReport]:
    """Runs the chosen stages and loads other finished ones; returns all their reports."""
    folder, config = workshop.folder, workshop.config
    here = [stage.name for stage in stages if is_finished(folder, stage.name)]
    check_needs(stages, chosen, {*here, *finished_before})
    reports: dict[str, StageReport] = {}
    for spec in stages:
        if spec.name not in chosen and spec.name not in here:
            continue
        stage = spec.build(workshop)
        fresh = spec.part not in config.warm_parts or stage.schedule.cold_start
        run = StageRun(spec.name, stage, folder, config.seed, reporter, workshop.group, fresh)
        reports[spec.name] = run.run()
    return reports


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
    different = sorted(name for name in content if content[name] != present.get(name))
    if different:
        raise ConfigError(
            f"{folder} was started with another configuration ('{different[0]}' differs); "
            "choose another --out."
        )
