"""Hyperparameters of CQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class CqlConfig:
    """Offline double Q-learning; the reward is 1 on reaching the goal.

    Attributes:
        trunk: its network.
        discount: γ.
        conservatism: weight of the penalty on actions outside the data.
        num_steps: number of steps of a return before it is estimated.
        target_every: optimisation steps between updates of the target network.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    discount: float = field(default=0.99, metadata={"shapes": False})
    conservatism: float = field(default=1.0, metadata={"shapes": False})
    num_steps: int = field(default=10, metadata={"shapes": False})
    target_every: int = field(default=250, metadata={"shapes": False})
    training: Schedule = field(default_factory=lambda: Schedule(steps=8_000, batch=128))

    def __post_init__(self) -> None:
        if not 0.0 < self.discount <= 1.0:
            raise ConfigError(f"cql.discount = {self.discount} is not in (0, 1].")
        if self.conservatism < 0.0:
            raise ConfigError("cql.conservatism must be 0 or more.")
        if self.num_steps < 1 or self.target_every < 1:
            raise ConfigError("cql.num_steps and cql.target_every must be at least 1.")
