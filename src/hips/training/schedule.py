"""The schedule of a stage and the sizes of a training run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

Size = Literal["smoke", "laptop", "paper"]
"""Amount of training: a trial of seconds, the default, or ten times the default."""
SIZES: tuple[str, ...] = get_args(Size)
SMOKE_STEPS, SMOKE_BATCH = 30, 64
PAPER_FACTOR = 10
PAPER_MODEL_RATE = 2e-4
"""The paper's learning rate of VQ-VAE and dynamics; that of the other networks is the default."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One optimisation: Adam, a short warm-up, then cosine decay to zero.

    Attributes:
        steps: optimisation steps; 0 keep the weights as they are.
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

    def sized(self, size: Size, published_rate: float | None = None) -> Schedule:
        """This schedule, which is for `laptop`, at a given size.

        `published_rate` is the paper's learning rate, where it differs.
        """
        if size == "smoke":
            batch = min(self.batch, SMOKE_BATCH)
            return replace(self, steps=SMOKE_STEPS, batch=batch, validate_every=SMOKE_STEPS)
        if size == "paper":
            rate = self.learning_rate if published_rate is None else published_rate
            return replace(self, steps=self.steps * PAPER_FACTOR, learning_rate=rate)
        return self
