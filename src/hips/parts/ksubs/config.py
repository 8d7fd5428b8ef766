"""Hyperparameters of kSubS's generator."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class KSubsConfig:
    """A generator of subgoals k steps ahead.

    Attributes:
        trunk: its network.
        distance: k.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    distance: int = field(default=4, metadata={"shapes": False})
    training: Schedule = field(default_factory=lambda: Schedule(steps=12_000, batch=128))

    def __post_init__(self) -> None:
        if self.distance < 1:
            raise ConfigError("ksubs.distance must be at least 1.")
