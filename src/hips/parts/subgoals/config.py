"""Hyperparameters of the subgoal generator."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule

REVIVED = 0.1
"""A code used less than this share of the mean use is replaced."""


@dataclass(frozen=True, slots=True)
class SubgoalConfig:
    """The VQ-VAE over subgoals.

    Attributes:
        trunk: the network over a state, run once for all codes.
        num_codes: K, size of the codebook.
        code_dimension: D, length of a code.
        commitment: β, weight of the commitment loss.
        encoder_channels: width of the encoder of (s, s_g).
        encoder_blocks: residual blocks of the encoder.
        head_channels: width of the head that runs once per code.
        head_layers: layers of the head.
        changes: whether the encoder sees added and removed symbols instead of both states.
        scaled_codes: whether codes are scaled to length √D instead of 1 before decoding.
        relations: number of places with which the decoder compares every cell.
        continuous: stage without a codebook.
        discrete: stage with a codebook, initialised by K-means.
        foreseen: stage on the second segmentation; see `segmentation.foresight`.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    num_codes: int = 64
    code_dimension: int = 128
    commitment: float = field(default=0.1, metadata={"shapes": False})
    encoder_channels: int = 32
    encoder_blocks: int = 2
    head_channels: int = 32
    head_layers: int = 3
    changes: bool = False
    scaled_codes: bool = False
    relations: int = 0
    continuous: Schedule = field(default_factory=lambda: Schedule(steps=500, batch=128))
    discrete: Schedule = field(
        default_factory=lambda: Schedule(steps=7_000, batch=128, validate_every=1_000)
    )
    foreseen: Schedule = field(
        default_factory=lambda: Schedule(steps=5_000, batch=128, validate_every=1_000)
    )

    def __post_init__(self) -> None:
        if self.num_codes < 2:
            raise ConfigError("subgoals.num_codes must be at least 2.")

    @property
    def revive_below(self) -> float:
        """Uses per batch below which a code is replaced."""
        return REVIVED * self.discrete.batch / self.num_codes
