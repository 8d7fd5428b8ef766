"""Hyperparameters of the learned dynamics."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class DynamicsConfig:
    """Prediction of the next state, given a state and an action.

    Attributes:
        trunk: its network.
        relations: number of places to compare every cell with; if above 0, cells may copy others.
        wandering: share of transitions that start a few random steps away from demonstrations;
            they ask the simulator. 0 learns from demonstrations alone.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=lambda: TrunkConfig(32, 2))
    relations: int = 0
    wandering: float = field(default=0.5, metadata={"shapes": False})
    training: Schedule = field(default_factory=lambda: Schedule(steps=1_000))

    def __post_init__(self) -> None:
        if not 0 <= self.wandering <= 1:
            raise ConfigError("dynamics.wandering is a share: give 0 to 1.")
