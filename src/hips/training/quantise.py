"""Static int8 versions of a bundle's graphs, calibrated on demonstrated states.

Only convolutions are quantised, weights per channel. A graph is kept only if it answers like its
fp32 original on states it was not calibrated on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hips.domains import Grids
from hips.files import replacing
from hips.models.runtime import INT8_SUFFIX, Graph

Inputs = Mapping[str, npt.NDArray[Any]]
PART = 32
CALIBRATION_PARTS = 16
MAX_ERROR = 0.05
"""Largest mean difference from fp32 that is accepted, relative to the outputs' spread."""
LEAST_SPREAD = 0.1
"""What an output is taken to vary by if it varies less."""


class _Reader:
    """Feeds calibration inputs to ONNX Runtime one part after the other."""

    def __init__(self, parts: Sequence[Inputs]) -> None:
        self._parts = iter(parts)

    def get_next(self) -> dict[str, npt.NDArray[Any]] | None:
        """The next part, or None at the end."""
        part = next(self._parts, None)
        return None if part is None else dict(part)


def quantise_graph(source: Path, target: Path, parts: Sequence[Inputs]) -> None:
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


def relative_error(expected: Graph, found: Graph, parts: Sequence[Inputs]) -> float:
    """Mean absolute difference of all outputs, over the spread of the expected ones.

    Of an output that hardly varies, such as a probability that is always about 1, the difference
    itself counts, not its ratio to nothing.
    """
    errors = []
    for part in parts:
        for ours, theirs in zip(expected(part), found(part), strict=True):
            spread = max(float(np.std(ours)), LEAST_SPREAD)
            errors.append(float(np.abs(ours - theirs).mean()) / spread)
    return float(np.mean(errors))


def quantise_bundle(
    folder: Path, states: Grids, subgoals: Grids, num_codes: int
) -> dict[str, float]:
    """Adds int8 graphs to a bundle; returns the error of those that were good enough.

    Args:
        folder: the bundle, with its fp32 graphs.
        states: demonstrated states `[B, H, W]`.
        subgoals: a later state for each of them.
        num_codes: K.
    """
    kept = {}
    for name, parts in _inputs(states, subgoals, num_codes).items():
        source, target = folder / f"{name}.onnx", folder / f"{name}{INT8_SUFFIX}"
        quantise_graph(source, target, parts[:CALIBRATION_PARTS])
        held_out = parts[CALIBRATION_PARTS:] or parts
        error = relative_error(Graph(source), Graph(target), held_out)
        if error <= MAX_ERROR:
            kept[name] = round(error, 5)
        else:
            target.unlink()
    return kept


def _inputs(states: Grids, subgoals: Grids, num_codes: int) -> dict[str, list[Inputs]]:
    """Inputs of the graphs worth quantising, in parts."""
    inputs: dict[str, list[Inputs]] = {"policy": [], "prior": [], "heuristic": [], "decoder": []}
    for first in range(0, len(states), PART):
        part, goals = states[first : first + PART], subgoals[first : first + PART]
        inputs["policy"].append({"states": part, "subgoals": goals})
        inputs["prior"].append({"states": part})
        inputs["heuristic"].append({"states": part})
        few = part[:2]
        parents = np.repeat(np.arange(len(few)), num_codes)
        codes = np.tile(np.arange(num_codes), len(few))
        inputs["decoder"].append({"states": few, "parents": parents, "codes": codes})
    return inputs
