"""From trained networks to a model on disk: ONNX graphs, fp16 weights, and the card."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import nn

from hips.errors import ModelError
from hips.files import replacing
from hips.models.runtime import Array, OnnxGraph
from hips.training.contract import BATCH, Examples, GraphSpec, Part
from hips.training.quantise import quantise_graph

OPSET = 18
EXPORTED = 16
TOLERANCE = 1e-3
INT8_SUFFIX = ".int8.onnx"


def export_graphs(
    parts: Mapping[str, Part],
    networks: Mapping[str, nn.Module],
    examples: Examples,
    fixed_size: bool,
    out: Path,
) -> tuple[dict[str, dict[str, dict[str, str]]], dict[str, float]]:
    """Writes the graphs of all parts in fp32 and, where accurate enough, in int8.

    Returns:
        The files by part, graph and precision, and the errors of the int8 graphs kept.
    """
    files: dict[str, dict[str, dict[str, str]]] = {}
    errors: dict[str, float] = {}
    for part, network in networks.items():
        _refuse_broken(part, network)
        files[part] = {}
        for spec in parts[part].graphs(network.cpu().eval()):
            source = out / f"{spec.name}.onnx"
            export_graph(spec, spec.inputs(examples[:EXPORTED]), source, fixed_size)
            files[part][spec.name] = {"fp32": source.name}
            if spec.quantised:
                target = out / f"{spec.name}{INT8_SUFFIX}"
                error = quantise_graph(spec, source, target, examples)
                if error is not None:
                    files[part][spec.name]["int8"] = target.name
                    errors[spec.name] = error
    return files, errors


def export_graph(
    spec: GraphSpec, inputs: Mapping[str, Array], path: Path, fixed_size: bool
) -> None:
    """Writes one graph and compares it with torch on the example inputs."""
    spec.module.eval()
    axes = {name: _dynamic(spec, name, value, fixed_size) for name, value in inputs.items()}
    tensors = tuple(torch.from_numpy(np.ascontiguousarray(value)) for value in inputs.values())
    # The tracing exporter: the newer one takes a hundred times longer for the same graphs.
    with warnings.catch_warnings(), replacing(path) as temporary:
        warnings.simplefilter("ignore")
        torch.onnx.export(
            spec.module,
            tensors,
            str(temporary),
            input_names=list(inputs),
            output_names=list(spec.outputs),
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    _compare(spec, inputs, tensors, path)


def _dynamic(spec: GraphSpec, name: str, value: Array, fixed_size: bool) -> dict[int, str]:
    axes = {0: spec.axes.get(name, BATCH)}
    if not fixed_size and value.ndim == 3:
        axes.update({1: "height", 2: "width"})
    return axes


def _compare(
    spec: GraphSpec, inputs: Mapping[str, Array], tensors: tuple[torch.Tensor, ...], path: Path
) -> None:
    with torch.no_grad():
        expected = spec.module(*tensors)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = OnnxGraph(path)(inputs)
    for name, ours, theirs in zip(spec.outputs, expected, found, strict=True):
        difference = np.abs(ours.numpy().astype(np.float64) - theirs).max(initial=0.0)
        scale = max(1.0, float(np.abs(ours.numpy()).max(initial=0.0)))
        if not difference <= TOLERANCE * scale:
            raise ModelError(
                f"{path.name}: output '{name}' of the exported graph differs from torch by "
                f"{difference:.2g}; the export is unusable."
            )


def _refuse_broken(part: str, network: nn.Module) -> None:
    for name, value in network.state_dict().items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise ModelError(f"the weights '{part}.{name}' are not finite; train that part again.")
