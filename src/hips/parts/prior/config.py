"""Hyperparameters of the prior."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class PriorConfig:
    """π_SG over codes and π_BC over actions.

    Attributes:
        trunk: its network.
        num_codes: K, as in the subgoal generator.
        training: its first stage.
        foreseen: stage after the generator's stage of that name; see `segmentation.foresight`.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    num_codes: int = 64
    training: Schedule = field(default_factory=lambda: Schedule(steps=5_000, batch=128))
    foreseen: Schedule = field(default_factory=lambda: Schedule(steps=3_000, batch=128))
