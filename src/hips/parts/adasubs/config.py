"""Hyperparameters of AdaSubS's generators."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class AdaSubsConfig:
    """Generators of subgoals at three distances, which share a network.

    Attributes:
        trunk: the network.
        far: the largest distance, which is tried first.
        middle: the next one.
        near: the smallest one.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    far: int = field(default=8, metadata={"shapes": False})
    middle: int = field(default=4, metadata={"shapes": False})
    near: int = field(default=2, metadata={"shapes": False})
    training: Schedule = field(default_factory=lambda: Schedule(steps=12_000, batch=128))

    def __post_init__(self) -> None:
        if not self.far > self.middle > self.near >= 1:
            raise ConfigError("adasubs needs far > middle > near ≥ 1.")
