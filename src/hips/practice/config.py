"""Settings of rounds of practice."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hips import domains
from hips.domains.base import Domain
from hips.errors import ConfigError
from hips.practice.teachers import TEACHERS
from hips.training import config as configuration
from hips.training.config import TrainingConfig
from hips.training.schedule import Schedule

RANGES = {
    "count": (0, 10**6),
    "levels": (1, 10**8),
    "max_expansions": (1, 10**12),
    "development": (1, 10**6),
    "within": (1, 10**12),
}
"""Least and largest values; absurd ones would fill the memory long after the first training."""


@dataclass(frozen=True, slots=True)
class RoundsConfig:
    """Rounds of practice after the first training.

    Attributes:
        count: number of rounds.
        teacher: who teaches: the domain's `expert`, or its `own` solutions.
        levels: levels per round; at most a quarter of them are failed ones that come again.
        max_expansions: limit of each search.
        grades: domain parameters of the levels, easiest first; none for the domain as it is.
        pass_mark: share of solved levels at which the next grade begins.
        effort: steps of a round's training, as a share of the first training's.
        parts: parts that learn in the rounds; none for all that are trained.
        training: training settings of the rounds, over those of the first training.
        development: number of fresh levels on which models are compared.
        within: expansions within which such a level must be solved.
    """

    count: int = 0
    teacher: str = "expert"
    levels: int = 2_000
    max_expansions: int = 100
    grades: tuple[Mapping[str, Any], ...] = ()
    pass_mark: float = 0.8
    effort: float = 0.25
    parts: tuple[str, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)
    development: int = 200
    within: int = 100

    def __post_init__(self) -> None:
        TEACHERS.get(self.teacher)
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value < low:
                raise ConfigError(f"rounds.{name} = {value} is invalid; give {low} or more.")
            if value > high:
                raise ConfigError(f"rounds.{name} is too large; give {high:,} or less.")
        if not 0.0 < self.effort <= 1.0 or not 0.0 < self.pass_mark <= 1.0:
            raise ConfigError("rounds.effort and rounds.pass_mark must be in (0, 1].")

    def curriculum(self, domain: Domain) -> tuple[Domain, ...]:
        """The domain of each grade.

        Raises:
            ConfigError: a grade has grids of another shape, which the networks do not take.
        """
        made = tuple(
            domains.create(domain.name, **{**domain.parameters(), **grade})
            for grade in self.grades or ({},)
        )
        for grade, one in zip(self.grades, made, strict=False):
            if one.spec != domain.spec:
                raise ConfigError(
                    f"The grade {dict(grade)} has grids {one.spec.shape}, not {domain.spec.shape}; "
                    "use parameters that keep the size."
                )
        return made


def round_config(rounds: RoundsConfig, first: TrainingConfig, seed: int) -> TrainingConfig:
    """The configuration of a round: the first training's parts, with shorter schedules.

    Raises:
        ConfigError: the settings of the rounds name an unknown part or training setting.
    """
    unknown = [name for name in rounds.parts if name not in first.parts]
    if unknown:
        raise ConfigError(
            f"rounds.parts names '{unknown[0]}', which is not trained. "
            f"Trained: {', '.join(first.parts)}."
        )
    chosen = {
        name: shortened(part, rounds.effort)
        for name, part in first.parts.items()
        if name in rounds.parts or not rounds.parts
    }
    changes = [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in rounds.training.items()
    ]
    return configuration.override(dataclasses.replace(first, parts=chosen, seed=seed), changes)


def shortened(part: Any, effort: float) -> Any:
    """A part's configuration with all schedules cut to the share `effort` of their steps."""
    changes = {}
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if isinstance(value, Schedule):
            steps = max(1, round(value.steps * effort))
            changes[item.name] = dataclasses.replace(
                value,
                steps=steps,
                validate_every=min(value.validate_every, steps),
                cold_start=False,
            )
    return dataclasses.replace(part, **changes)
