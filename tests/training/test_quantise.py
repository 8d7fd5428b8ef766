"""When an int8 graph answers like its original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from hips.training.quantise import LEAST_SPREAD, MAX_ERROR, relative_error


class Constant:
    """A graph that gives the same outputs for any input."""

    def __init__(self, *outputs: np.ndarray) -> None:
        self.outputs = list(outputs)
        self.calls = 0

    def __call__(self, inputs: Mapping[str, Any]) -> list[np.ndarray]:
        return self.outputs


def error(expected: np.ndarray, found: np.ndarray) -> float:
    ours: Any = Constant(expected)
    theirs: Any = Constant(found)
    return relative_error(ours, theirs, [{}])


def test_errors_are_relative_to_the_spread() -> None:
    expected = np.array([-10.0, 10.0])
    assert error(expected, expected) == 0.0
    assert error(expected, expected + 1.0) == pytest.approx(0.1)


def test_an_output_that_hardly_varies_is_not_blown_up() -> None:
    """A policy that reaches all demonstrated subgoals says 0.999, and in int8 0.998."""
    sure = np.full(64, 0.999) + np.linspace(0.0, 1e-4, 64)
    assert error(sure, sure - 0.001) == pytest.approx(0.001 / LEAST_SPREAD)
    assert error(sure, sure - 0.001) < MAX_ERROR < error(sure, sure - 0.1)
