"""How long a training takes, and how its stages fit into the minutes given."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from hips.errors import ConfigError
from hips.training.config import TrainingConfig
from hips.training.contract import Examples, GraphSpec, Part, StageSpec
from hips.training.durations import spell_minutes
from hips.training.schedule import Schedule

TIMED_ROWS = 64
BACKWARD = 3.5
"""Cost of an optimisation step, relative to a forward pass of the same samples."""
STEPS_APART = 0.2
"""Share of the minutes given that is left for export, scores and the trial."""
FEWEST_STEPS = 30
"""A stage with fewer steps learns nothing."""


@dataclass(slots=True)
class Timetable:
    """The expected duration of every stage, corrected by what the finished ones took.

    Attributes:
        seconds: expected seconds by stage, at the configured steps.
        limit: seconds for all stages together; None for no limit.
        started: `time.monotonic()` at the start of the first stage.
        expected: seconds that were expected of the stages run so far.
        taken: seconds that they took.
    """

    seconds: dict[str, float]
    limit: float | None = None
    started: float = 0.0
    expected: float = 0.0
    taken: float = 0.0

    @property
    def total(self) -> float:
        """Expected seconds of all stages at the configured steps."""
        return sum(self.seconds.values())

    def check(self, steps: Mapping[str, int], spent: float = 0.0) -> None:
        """Rejects a limit that leaves some stage too few steps.

        Args:
            steps: of every stage, as configured.
            spent: seconds that the run took before its stages, mostly on demonstrations.

        Raises:
            ConfigError: with the minutes that are needed.
        """
        if self.limit is None:
            return
        least = sum(
            seconds * min(1.0, FEWEST_STEPS / max(1, steps[name]))
            for name, seconds in self.seconds.items()
        )
        if least > self.limit:
            needed = math.ceil((least + spent) / (1.0 - STEPS_APART) / 60) + 1
            before = f" after {spell_minutes(spent)} of preparation" if spent >= 1.0 else ""
            raise ConfigError(
                f"The training does not fit into the minutes given: even {FEWEST_STEPS} steps a "
                f"stage take about {needed} minutes in all here{before}. Give --limit-minutes "
                f"{needed} or more, or train less with --size smoke or --parts."
            )

    def fitted(self, stage: str, schedule: Schedule, now: float) -> Schedule:
        """The schedule of the next stage, with as many steps as its share of the time allows."""
        if self.limit is None or stage not in self.seconds:
            return schedule
        pace = self.taken / self.expected if self.expected else 1.0
        left = max(0.0, self.limit - (now - self.started))
        waiting = sum(self.seconds.values()) * pace
        share = min(1.0, left / max(waiting, 1e-9))
        steps = max(min(FEWEST_STEPS, schedule.steps), math.floor(schedule.steps * share))
        return with_steps(schedule, steps)

    def finished(self, stage: str, schedule: Schedule, steps: int, seconds: float) -> None:
        """Records how long a stage took, to correct what is expected of the others."""
        expected = self.seconds.pop(stage, 0.0)
        self.expected += expected * steps / max(1, schedule.steps)
        self.taken += seconds


def with_steps(schedule: Schedule, steps: int) -> Schedule:
    """A schedule with other steps, validated at least three times."""
    every = max(1, min(schedule.validate_every, steps // 3))
    return (
        schedule
        if steps == schedule.steps
        else replace(schedule, steps=steps, validate_every=every)
    )


def expected_seconds(
    parts: Mapping[str, Part],
    networks: Mapping[str, nn.Module],
    config: TrainingConfig,
    stages: Sequence[StageSpec],
    examples: Examples,
) -> dict[str, float]:
    """Seconds of every stage, from the time of a forward pass of its part's graphs."""
    found = {}
    for stage in stages:
        schedule = schedule_of(config, stage.name)
        row = sum(
            _seconds_per_row(spec, examples)
            for spec in parts[stage.part].graphs(networks[stage.part].eval())
        )
        found[stage.name] = BACKWARD * stage.effort * row * schedule.batch * schedule.steps
    return found


def schedule_of(config: TrainingConfig, stage: str) -> Schedule:
    """The configured schedule of a stage `part.stage`."""
    part, name = stage.split(".", 1)
    schedule: Schedule = getattr(config.parts[part], name)
    return schedule


def _seconds_per_row(spec: GraphSpec, examples: Examples) -> float:
    inputs = spec.inputs(examples[:TIMED_ROWS])
    tensors = [torch.from_numpy(np.ascontiguousarray(value)) for value in inputs.values()]
    rows = max(len(tensor) for tensor in tensors)
    with torch.no_grad():
        spec.module(*tensors)
        started = time.perf_counter()
        spec.module(*tensors)
        return (time.perf_counter() - started) / rows
