"""Options of the best-first loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from hips.errors import ConfigError
from hips.planner.budget import Budget
from hips.planner.evaluations import Evaluation, KeyFunction

DEFAULT_BATCH = 64


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of the loop.

    Attributes:
        evaluation: name of a registered evaluation, or a key function.
        budget: limits of each search, and of all together.
        batch: searches in lockstep.
        total_bytes: memory limit of all searches together; beyond it, the largest one ends
            OUT_OF_MEMORY. None takes most of the free memory.
        close_on_generation: never update a generated state (the published protocol).
        width: nodes of each search that a round expands at most.
    """

    evaluation: str | Evaluation | KeyFunction = "phs_hat"
    budget: Budget = field(default_factory=Budget)
    batch: int = DEFAULT_BATCH
    total_bytes: int | None = None
    close_on_generation: bool = False
    width: int = 1

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ConfigError(f"A batch of {self.batch} searches is invalid; give 1 or more.")
        if self.width < 1:
            raise ConfigError(f"A width of {self.width} nodes is invalid; give 1 or more.")
