"""Hyperparameters of the detector."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule

CHANNELS, BLOCKS = 16, 5
"""The published network."""


@dataclass(frozen=True, slots=True)
class DetectorConfig:
    """Joint REINFORCE training of the detector and the reach policy.

    Attributes:
        trunk: its network.
        samples: segmentations sampled per trajectory, at least 2.
        discount: γ, per segment.
        entropy_bonus: weight of the entropy.
        training: its only stage; a batch counts trajectories.
    """

    trunk: TrunkConfig = field(default_factory=lambda: TrunkConfig(CHANNELS, BLOCKS))
    samples: int = field(default=16, metadata={"shapes": False})
    discount: float = field(default=0.99, metadata={"shapes": False})
    entropy_bonus: float = field(default=0.01, metadata={"shapes": False})
    training: Schedule = field(
        default_factory=lambda: Schedule(steps=150, batch=8, validate_every=50)
    )

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise ConfigError("detector.samples must be at least 2: each has the others' mean.")
