"""Hyperparameters of the learned dynamics."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class DynamicsConfig:
    """Prediction of the next state, given a state and an action.

    Attributes:
        trunk: its network.
        relations: number of places to compare every cell with; if above 0, cells may copy others.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=lambda: TrunkConfig(32, 2))
    relations: int = 0
    training: Schedule = field(default_factory=lambda: Schedule(steps=1_000))
