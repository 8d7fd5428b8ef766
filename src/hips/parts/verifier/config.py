"""Hyperparameters of the verifier."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class VerifierConfig:
    """A classifier of pairs of states and subgoals.

    Attributes:
        trunk: its network.
        states: number of states whose proposed subgoals are tried before its training.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=lambda: TrunkConfig(32, 4))
    states: int = field(default=2_048, metadata={"shapes": False})
    training: Schedule = field(default_factory=lambda: Schedule(steps=3_000, batch=128))

    def __post_init__(self) -> None:
        if self.states < 1:
            raise ConfigError("verifier.states must be at least 1.")
