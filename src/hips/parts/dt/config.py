"""Hyperparameters of the Decision Transformer."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class DecisionTransformerConfig:
    """A causal transformer over returns to go, states and actions.

    Attributes:
        trunk: the network that embeds states.
        width: size of a token.
        layers: number of transformer layers.
        heads: attention heads per layer.
        dropout: share of activations dropped in training.
        training: its only stage; a batch counts sequences.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    width: int = 96
    layers: int = 3
    heads: int = 4
    dropout: float = field(default=0.1, metadata={"shapes": False})
    training: Schedule = field(
        default_factory=lambda: Schedule(steps=6_000, batch=16, learning_rate=6e-4)
    )

    def __post_init__(self) -> None:
        if min(self.width, self.layers, self.heads) < 1 or self.width % self.heads:
            raise ConfigError("dt.width must be a positive multiple of dt.heads, dt.layers ≥ 1.")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dt.dropout = {self.dropout} is not in [0, 1).")
