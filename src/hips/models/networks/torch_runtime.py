"""Runs the networks in torch, on a CPU or a GPU: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from hips.domains import GridSpec
from hips.models.networks.assembly import Networks
from hips.models.networks.devices import choose_device
from hips.models.networks.graphs import graph_modules
from hips.models.networks.plan import NetworkPlan
from hips.models.networks.weights import load_weights
from hips.models.runtime import GraphRuntime


class TorchGraph:
    """One module with named inputs, called with arrays."""

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.module, self.device = module.to(device).eval(), device

    def __call__(self, inputs: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
        """The module's outputs, in order."""
        with torch.inference_mode(), _full_precision(self.device):
            # Copied: torch takes no array that is read-only or runs backwards.
            tensors = {
                name: torch.from_numpy(np.array(value, order="C")).to(self.device)
                for name, value in inputs.items()
            }
            outputs = self.module(**tensors)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            return [np.ascontiguousarray(output.cpu().numpy()) for output in outputs]


class TorchRuntime(GraphRuntime):
    """The networks of one model in torch.

    Args:
        networks: with their final weights; they are moved to the device.
        device: where they run: `cpu`, `cuda`, `cuda:1` … or `auto`.
        threads: torch's threads on a CPU, for the whole process; None leaves them alone.
    """

    def __init__(self, networks: Networks, device: str = "cpu", threads: int | None = None) -> None:
        chosen = choose_device(device)
        if chosen.type == "cpu" and threads is not None:
            torch.set_num_threads(threads)
        modules = graph_modules(networks.to(chosen))
        super().__init__({name: TorchGraph(module, chosen) for name, module in modules.items()})

    @classmethod
    def open(
        cls,
        folder: Path,
        configuration: Mapping[str, Any],
        spec: GridSpec,
        device: str,
        threads: int | None = None,
    ) -> Self:
        """The runtime of a bundle's fp16 weights.

        Args:
            folder: the bundle.
            configuration: of the training, from the bundle's card.
            spec: of the domain, at the size that is wanted.
            device: as above.
            threads: as above.
        """
        networks = Networks(spec, NetworkPlan.of(configuration))
        load_weights(networks, folder)
        return cls(networks, device, threads)


@contextmanager
def _full_precision(device: torch.device) -> Iterator[None]:
    """Keeps a GPU from rounding inside convolutions: the answers are those of a CPU."""
    if device.type != "cuda":
        yield
        return
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
        yield
