"""Hyperparameters of the heuristic."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class HeuristicConfig:
    """A distribution over the remaining steps.

    Attributes:
        trunk: its network.
        max_distance: the largest distance it can represent. It treats states farther from a goal
            as dead ends, so choose it above the length of plans.
        num_bins: number of bins up to `max_distance`.
        training: its only stage.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    max_distance: int = field(default=128, metadata={"shapes": False})
    num_bins: int = 128
    training: Schedule = field(default_factory=lambda: Schedule(steps=6_000))
