"""Hyperparameters of the detector."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class DetectorConfig:
    """Joint REINFORCE training of the detector and the reach policy.

    Attributes:
        trunk: its network.
        samples: segmentations sampled per trajectory.
        discount: γ, per segment.
        entropy_bonus: weight of the entropy.
        training: its only stage; a batch counts trajectories.
    """

    trunk: TrunkConfig = field(default_factory=lambda: TrunkConfig(24, 2))
    samples: int = field(default=16, metadata={"shapes": False})
    discount: float = field(default=0.99, metadata={"shapes": False})
    entropy_bonus: float = field(default=0.01, metadata={"shapes": False})
    training: Schedule = field(
        default_factory=lambda: Schedule(steps=150, batch=8, validate_every=50)
    )
