"""Static int8 quantisation of graphs, calibrated on demonstrated states.

Only convolutions are quantised, weights per channel. A graph is kept only if it agrees with its
fp32 original on states outside the calibration set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hips.files import replacing
from hips.models.runtime import Array, OnnxGraph
from hips.training.contract import Examples, GraphSpec

Inputs = Mapping[str, Array]
AT_ONCE = 32
CALIBRATION_PARTS = 16
MAX_ERROR = 0.05
"""Largest accepted mean difference from fp32, relative to the outputs' spread."""
LEAST_SPREAD = 0.1
"""Minimum spread assumed for an output."""


class _Reader:
    """Feeds calibration inputs to ONNX Runtime part by part."""

    def __init__(self, parts: Sequence[Inputs]) -> None:
        self._parts = iter(parts)

    def get_next(self) -> dict[str, Any] | None:
        """The next part, or None at the end."""
        part = next(self._parts, None)
        return None if part is None else dict(part)


def quantise_graph(spec: GraphSpec, source: Path, target: Path, examples: Examples) -> float | None:
    """Writes the int8 version of an exported graph; returns its error, or None if too large."""
    count = len(examples.states)
    parts = [spec.inputs(examples[i : i + AT_ONCE]) for i in range(0, count, AT_ONCE)]
    write_int8(source, target, parts[:CALIBRATION_PARTS])
    held_out = parts[CALIBRATION_PARTS:] or parts
    error = relative_error(OnnxGraph(source), OnnxGraph(target), held_out)
    if error <= MAX_ERROR:
        return round(error, 5)
    target.unlink()
    return None


def write_int8(source: Path, target: Path, parts: Sequence[Inputs]) -> None:
    """Writes an int8 version of `source`, calibrated on `parts`."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = target.with_suffix(".prepared.onnx")
    try:
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        with replacing(target) as temporary:
            quantize_static(
                str(prepared),
                str(temporary),
                _Reader(parts),
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=["Conv"],
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
            )
    finally:
        prepared.unlink(missing_ok=True)


def relative_error(expected: OnnxGraph, found: OnnxGraph, parts: Sequence[Inputs]) -> float:
    """Mean absolute difference of all outputs, relative to the spread of the expected ones.

    The spread has a lower limit, for outputs that hardly vary, such as a probability always
    close to 1.
    """
    errors = []
    for part in parts:
        for ours, theirs in zip(expected(part), found(part), strict=True):
            spread = max(float(np.std(ours)), LEAST_SPREAD)
            errors.append(float(np.abs(ours - theirs).mean()) / spread)
    return float(np.mean(errors))
