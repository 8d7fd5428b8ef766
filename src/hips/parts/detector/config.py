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
    """Training of the detector: jointly with the reach policy, or on exact values.

    Attributes:
        trunk: its network.
        samples: segmentations sampled per trajectory, at least 2.
        discount: γ, per segment.
        entropy_bonus: weight of the entropy.
        training: REINFORCE together with the reach policy; a batch counts trajectories.
        distilled: demonstrations whose segmentations are weighed instead, if the segmentation is
            `distilled`.
        distillation: that stage; a batch counts trajectories.
    """

    trunk: TrunkConfig = field(default_factory=lambda: TrunkConfig(CHANNELS, BLOCKS))
    samples: int = field(default=16, metadata={"shapes": False})
    discount: float = field(default=0.99, metadata={"shapes": False})
    entropy_bonus: float = field(default=0.01, metadata={"shapes": False})
    training: Schedule = field(
        default_factory=lambda: Schedule(steps=150, batch=8, validate_every=50)
    )
    distilled: int = field(default=2_000, metadata={"shapes": False})
    distillation: Schedule = field(
        default_factory=lambda: Schedule(steps=1_200, batch=8, validate_every=200)
    )

    def __post_init__(self) -> None:
        if self.distilled < 1:
            raise ConfigError("detector.distilled must be at least 1.")
        if self.samples < 2:
            raise ConfigError("detector.samples must be at least 2: each has the others' mean.")
