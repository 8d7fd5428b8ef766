"""Hyperparameters of familiarity."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class FamiliarityConfig:
    """A classifier of states.

    Attributes:
        trunk: its network.
        walks: number of random walks from demonstrated states, in the learned dynamics.
        longest: the most steps of a walk.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    walks: int = field(default=60_000, metadata={"shapes": False})
    longest: int = field(default=12, metadata={"shapes": False})
    training: Schedule = field(default_factory=lambda: Schedule(steps=1_500))

    def __post_init__(self) -> None:
        if self.walks < 1 or self.longest < 1:
            raise ConfigError("familiarity.walks and familiarity.longest must be at least 1.")
