"""Hyperparameters of the reach policy."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class ReachPolicyConfig:
    """The subgoal-conditioned policy.

    Attributes:
        trunk: its network.
        chunk: C, number of actions predicted at once.
        proposal_top_p: top-p of the prior for the proposed subgoals it trains on.
        imitation: stage that imitates demonstrated segments.
        alternation: stage that segments trajectories and imitates their segments in turn, if the
            segmentation is `alternating`; a batch counts trajectories.
        chunking: stage that predicts its own greedy rollouts and whether they arrive; it needs the
            simulator, and 0 steps leave it out.
    """

    trunk: TrunkConfig = field(default_factory=lambda: TrunkConfig(32, 4))
    chunk: int = 10
    proposal_top_p: float = field(default=1.0, metadata={"shapes": False})
    imitation: Schedule = field(default_factory=lambda: Schedule(steps=3_000))
    alternation: Schedule = field(
        default_factory=lambda: Schedule(steps=500, batch=8, validate_every=100)
    )
    chunking: Schedule = field(default_factory=lambda: Schedule(steps=1_000, batch=128))

    def __post_init__(self) -> None:
        if self.chunk < 1:
            raise ConfigError("reach_policy.chunk must be at least 1.")
