"""Runs the networks of parts in torch, on a CPU or a GPU: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

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
    """A module with named inputs, called with arrays."""

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.module, self.device = module.to(device).eval(), device

    def __call__(self, inputs: Mapping[str, Array]) -> list[Any]:
        """The module's outputs, in order."""
        with torch.inference_mode(), _full_precision(self.device):
            # Copied: torch rejects read-only arrays and negative strides.
            tensors = {
                name: torch.from_numpy(np.array(value, order="C")).to(self.device)
                for name, value in inputs.items()
            }
            outputs = self.module(**tensors)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            return [np.ascontiguousarray(output.cpu().numpy()) for output in outputs]


class TorchRuntime(GraphRuntime):
    """The graphs of some parts in torch, with the current weights of their networks.

    Args:
        parts: registered parts, by name.
        networks: the networks to run, by part; they are moved to the device.
        device: where they run.
    """

    def __init__(
        self, parts: Mapping[str, Part], networks: Mapping[str, nn.Module], device: torch.device
    ) -> None:
        super().__init__(
            {
                graph.name: TorchGraph(graph.module, device)
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
