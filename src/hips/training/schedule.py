"""The schedule of a stage and the sizes of a training run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

Size = Literal["smoke", "laptop", "paper"]
"""Amount of training: a trial of seconds, the default, or ten times the default."""
SIZES: tuple[str, ...] = get_args(Size)
SMOKE_STEPS, SMOKE_BATCH = 30, 64
PAPER_FACTOR = 10


@dataclass(frozen=True, slots=True)
class Schedule:
    """One optimisation: Adam, a short warm-up, then cosine decay to zero.

    Attributes:
        steps: optimisation steps.
        batch: samples per step, over all processes.
        learning_rate: peak learning rate.
        validate_every: steps between validations.
        patience: validations without improvement before stopping; 0 disables early stopping.
        cold_start: ignore the run's warm start in this stage: run its preparation and, if it is
            the first stage of its part, start from random weights.
    """

    steps: int = 1000
    batch: int = 256
    learning_rate: float = 1e-3
    validate_every: int = 500
    patience: int = 0
    cold_start: bool = False

    def sized(self, size: Size) -> Schedule:
        """This schedule, which is for `laptop`, at a given size."""
        if size == "smoke":
            batch = min(self.batch, SMOKE_BATCH)
            return replace(self, steps=SMOKE_STEPS, batch=batch, validate_every=SMOKE_STEPS)
        return replace(self, steps=self.steps * PAPER_FACTOR) if size == "paper" else self
