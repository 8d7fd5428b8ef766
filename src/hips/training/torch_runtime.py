"""Runs the networks of parts in torch, on a CPU or a GPU: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hips.errors import ModelError
from hips.models.bundle import Bundle
from hips.models.runtime import Array, GraphRuntime, Shape, joined
from hips.training.config import build
from hips.training.contract import Part
from hips.training.devices import choose_device
from hips.training.weights import load_weights

ROWS_AT_ONCE = 1024
"""Rows of a call; the activations of more would not stay in a processor's cache."""


class TorchGraph:
    """A module with named inputs, called with arrays; `precision` is that of its layers."""

    def __init__(
        self, module: nn.Module, device: torch.device, precision: torch.dtype = torch.float32
    ) -> None:
        self.module, self.device = module.to(device).eval(), device
        self.precision = precision

    def __call__(self, inputs: Mapping[str, Array]) -> list[Any]:
        """The module's outputs, in order."""
        with torch.inference_mode(), self._arithmetic():
            # Copied: torch rejects read-only arrays and negative strides.
            tensors = {
                name: torch.from_numpy(np.array(value, order="C")).to(self.device)
                for name, value in inputs.items()
            }
            outputs = self.module(**tensors)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            return [np.ascontiguousarray(_exact(output).cpu().numpy()) for output in outputs]

    def _arithmetic(self) -> AbstractContextManager[Any]:
        if self.precision == torch.float32:
            return _full_precision(self.device)
        return torch.autocast(self.device.type, self.precision)


def _exact(output: Tensor) -> Tensor:
    """The output as numpy knows it, without 16-bit floats."""
    return output.float() if output.is_floating_point() else output


class TorchRuntime(GraphRuntime):
    """The graphs of some parts in torch, with the current weights of their networks.

    Args:
        parts: registered parts, by name.
        networks: the networks to run, by part; they are moved to the device.
        device: where they run.
        precision: of the numbers in their layers.
    """

    def __init__(
        self,
        parts: Mapping[str, Part],
        networks: Mapping[str, nn.Module],
        device: torch.device,
        precision: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(
            {
                graph.name: TorchGraph(graph.module, device, precision)
                for name, network in networks.items()
                for graph in parts[name].graphs(network.to(device))
            }
        )

    def rowwise(
        self, graph: str, shapes: Sequence[Shape] | None = None, /, **inputs: Array
    ) -> list[Array]:
        """The outputs of a graph with one row per state, computed some rows at a time."""
        count = len(next(iter(inputs.values())))
        pieces = [
            super(TorchRuntime, self).rowwise(
                graph,
                shapes,
                **{key: value[first : first + ROWS_AT_ONCE] for key, value in inputs.items()},
            )
            for first in range(0, max(count, 1), ROWS_AT_ONCE)
        ]
        return [joined(outputs) for outputs in zip(*pieces, strict=True)]


def open_on_device(
    bundle: Bundle, parts: Mapping[str, Part], device: str, threads: int | None = None
) -> TorchRuntime:
    """The torch runtime of a model's fp16 weights.

    Args:
        bundle: the model.
        parts: registered parts, by name.
        device: `cpu`, `cuda`, `cuda:1` … or `auto`.
        threads: torch threads on a CPU, for the whole process; None keeps the current number.
    """
    chosen = choose_device(device)
    if chosen.type == "cpu" and threads is not None:
        torch.set_num_threads(threads)
    networks = build_networks(bundle, parts)
    load_weights(networks, bundle)
    return TorchRuntime(parts, networks, chosen)


def build_networks(bundle: Bundle, parts: Mapping[str, Part]) -> dict[str, nn.Module]:
    """Networks of the sizes in a model's card, with random weights."""
    networks = {}
    for name, entry in bundle.card.parts.items():
        if name not in parts:
            raise ModelError(
                f"{bundle.folder}: has an unknown part '{name}'; load the plug-in that it was "
                "trained with."
            )
        part = parts[name]
        config = build(part.config_type, entry.configuration)
        networks[name] = part.build(bundle.domain.spec, config, bundle.card.horizon)
    return networks


@contextmanager
def _full_precision(device: torch.device) -> Iterator[None]:
    """Disables reduced precision in a GPU's convolutions, so that outputs match the CPU's."""
    if device.type != "cuda":
        yield
        return
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
        yield
