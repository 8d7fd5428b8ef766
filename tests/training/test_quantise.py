"""When an int8 graph answers like its original."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hips.errors import ModelError
from hips.models.runtime import OnnxGraph
from hips.seeding import stream
from hips.training import quantise
from hips.training.contract import Examples, GraphSpec
from hips.training.export import export_graph
from hips.training.quantise import LEAST_SPREAD, MAX_ERROR, quantise_graph, relative_error


class Constant:
    """A graph that gives the same outputs for any input."""

    def __init__(self, *outputs: np.ndarray) -> None:
        self.outputs = list(outputs)

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


def exported(tmp_path: Path) -> tuple[GraphSpec, Path, Examples]:
    """A small network over states, as an ONNX graph."""
    torch.manual_seed(0)
    module = nn.Sequential(Numbers(), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 1))
    grids = stream(0, "quantise").integers(0, 9, size=(96, 4, 5)).astype(np.uint8)
    examples = Examples(grids, grids, 4)
    spec = GraphSpec("numbers", module, lambda some: {"states": some.states}, ("scores",))
    source = tmp_path / "numbers.onnx"
    export_graph(spec, spec.inputs(examples[:4]), source, fixed_size=True)
    return spec, source, examples


class Numbers(nn.Module):
    """Cells as numbers `[B, 1, H, W]`."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return states.float().unsqueeze(1)


def test_a_graph_is_kept_as_int8_if_it_is_near_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, source, examples = exported(tmp_path)
    target = tmp_path / "numbers.int8.onnx"
    found = quantise_graph(spec, source, target, examples)
    assert found is not None
    assert 0.0 < found <= MAX_ERROR
    inputs = spec.inputs(examples)
    ours, theirs = (OnnxGraph(path)(inputs)[0] for path in (source, target))
    assert not np.array_equal(ours, theirs)
    assert np.abs(ours - theirs).mean() / ours.std() < 2 * MAX_ERROR
    monkeypatch.setattr(quantise, "MAX_ERROR", found / 2)
    assert quantise_graph(spec, source, target, examples) is None
    assert {path.name for path in tmp_path.iterdir()} == {"numbers.onnx"}


def test_an_export_that_differs_from_torch_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, _, examples = exported(tmp_path)
    monkeypatch.setattr(OnnxGraph, "__call__", lambda self, inputs: [np.zeros((4, 4, 2, 3))])
    with pytest.raises(ModelError, match=r"other\.onnx: output 'scores'.*differs from torch"):
        export_graph(spec, spec.inputs(examples[:4]), tmp_path / "other.onnx", fixed_size=True)
