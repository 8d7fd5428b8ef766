"""Batches as named tensors, and means of an objective over a large batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

Batch = dict[str, Tensor]
PART = 512


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's parameters."""
    return next(module.parameters()).device


def parts(batch: Batch, device: torch.device, size: int = PART) -> Iterator[Batch]:
    """Splits a large batch into pieces on `device`."""
    total = len(next(iter(batch.values())))
    for first in range(0, total, size):
        yield {name: value[first : first + size].to(device) for name, value in batch.items()}


def mean_metrics(objective: nn.Module, batch: Batch) -> dict[str, float]:
    """The loss (as "score") and the metrics of an objective, averaged over a large batch."""
    total = len(next(iter(batch.values())))
    means: dict[str, float] = {"score": 0.0}
    for part in parts(batch, device_of(objective)):
        share = len(next(iter(part.values()))) / total
        loss, metrics = objective(part)
        for name, value in {"score": loss, **metrics}.items():
            means[name] = means.get(name, 0.0) + share * float(value)
    return means


def share_of_commonest(values: Tensor) -> float:
    """The share of the commonest value among those that are not negative."""
    known = values[values >= 0]
    counts = np.unique(known.numpy(), return_counts=True)[1]
    return float(counts.max() / len(known)) if len(known) else 0.0
