"""Hyperparameters of the heuristic."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.training.schedule import Schedule

STITCHING_MODELS = ("learned", "true")


@dataclass(frozen=True, slots=True)
class HeuristicConfig:
    """A distribution over the remaining steps.

    Attributes:
        trunk: its network.
        max_distance: the largest distance it can represent. It treats states farther from a goal
            as dead ends, so choose it above the length of plans.
        num_bins: number of bins up to `max_distance`.
        shortcuts: whether loops are cut out of the demonstrations before their remaining steps
            are counted.
        stitched: number of demonstrations whose surroundings are searched for shortcuts and dead
            ends; their states become labels. 0 for none.
        stitching_depth: how many steps away from a demonstrated state that search goes.
        stitching_spread: how many steps away it looks even where there is a way back.
        stitching_dead_ends: whether states from which it finds no way back become dead ends.
        stitching_model: what both step with: the `learned` dynamics, or the `true` rules, which
            ask the simulator and are many times faster.
        walks: random walks that leave each of the `stitched` demonstrations; their states, with the
            shortest known way back, become labels. 0 for none.
        walk_steps: the length of such a walk.
        strays: number of random walks from demonstrated states whose ends become dead ends if they
            look like no demonstrated state, by the part `familiarity`. 0 for none.
        longest_walk: the most steps of such a walk.
        mirrored: whether all of the domain's symmetries multiply its states, whatever
            `symmetries` says of the demonstrations: habits make plans, hardly distances.
        training: regression of the remaining steps.
        backup: a second stage that learns from one-step backups along the demonstrations; 0 steps
            leave it out.
    """

    trunk: TrunkConfig = field(default_factory=TrunkConfig)
    max_distance: int = field(default=128, metadata={"shapes": False})
    num_bins: int = 128
    shortcuts: bool = field(default=False, metadata={"shapes": False})
    stitched: int = field(default=0, metadata={"shapes": False})
    stitching_depth: int = field(default=8, metadata={"shapes": False})
    stitching_spread: int = field(default=1, metadata={"shapes": False})
    stitching_dead_ends: bool = field(default=True, metadata={"shapes": False})
    stitching_model: str = field(default="learned", metadata={"shapes": False})
    walks: int = field(default=0, metadata={"shapes": False})
    walk_steps: int = field(default=40, metadata={"shapes": False})
    strays: int = field(default=0, metadata={"shapes": False})
    longest_walk: int = field(default=12, metadata={"shapes": False})
    mirrored: bool = field(default=False, metadata={"shapes": False})
    training: Schedule = field(default_factory=lambda: Schedule(steps=6_000))
    backup: Schedule = field(default_factory=lambda: Schedule(steps=0))

    def __post_init__(self) -> None:
        if self.stitched < 0 or self.stitching_depth < 1 or self.stitching_spread < 1:
            raise ConfigError(
                "heuristic.stitched must be 0 or more, heuristic.stitching_depth and "
                "heuristic.stitching_spread 1 or more."
            )
        if min(self.strays, self.walks) < 0 or min(self.longest_walk, self.walk_steps) < 1:
            raise ConfigError(
                "heuristic.strays and heuristic.walks must be 0 or more, heuristic.longest_walk "
                "and heuristic.walk_steps 1 or more."
            )
        if self.walks and not self.stitched:
            raise ConfigError(
                "heuristic.walks leave the demonstrations that heuristic.stitched counts, and that "
                "is 0; give it as well, e.g. heuristic.stitched=300."
            )
        if self.stitching_spread > self.stitching_depth + 1:
            raise ConfigError(
                f"heuristic.stitching_spread is {self.stitching_spread}, beyond what a search of "
                f"depth {self.stitching_depth} meets; give at most {self.stitching_depth + 1}, or "
                "a greater heuristic.stitching_depth."
            )
        if self.stitching_model not in STITCHING_MODELS:
            raise ConfigError(
                f"heuristic.stitching_model is '{self.stitching_model}'; it is one of "
                f"{', '.join(STITCHING_MODELS)}."
            )

    @property
    def needs_dynamics(self) -> bool:
        """Whether its targets come from the learned dynamics."""
        wanted = self.shortcuts or self.stitched > 0 or self.strays > 0
        return self.stitching_model == "learned" and wanted
