"""Shared statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Z_95 = 1.959963984540054


def spearman(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    """Spearman's rank correlation; ties share their mean rank.

    >>> round(spearman(np.array([1, 2, 3]), np.array([10, 30, 20])), 3)
    0.5
    """
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    upper = np.cumsum(counts)
    mean_ranks: npt.NDArray[np.float64] = (2 * upper - counts - 1)[inverse] / 2.0
    return mean_ranks


def perplexity(usage: npt.NDArray[Any]) -> float:
    """The effective number of items in use: exp of the entropy of their shares.

    >>> round(perplexity(np.array([5, 5, 0])), 6)
    2.0
    """
    share = usage[usage > 0] / usage.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def wilson_interval(successes: int, total: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a proportion.

    >>> [round(bound, 3) for bound in wilson_interval(50, 100)]
    [0.404, 0.596]

    Rounding does not move the ends 0 and 1.

    >>> wilson_interval(10, 10)[1], wilson_interval(0, 10)[0]
    (1.0, 0.0)
    """
    if total == 0:
        return 0.0, 1.0
    share, square = successes / total, Z_95**2
    centre = share + square / (2 * total)
    spread = Z_95 * math.sqrt(share * (1 - share) / total + square / (4 * total**2))
    scale = 1 + square / total
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == total else (centre + spread) / scale
    return low, high
