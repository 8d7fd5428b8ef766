"""The processes of a training run: one, or several started by torchrun, on a CPU or a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed

from hips.training.config import AUTO, FLOAT32
from hips.training.devices import choose_device, choose_precision


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """This process among all processes of a training run.

    Attributes:
        rank: its number; the first is 0 and writes the files.
        size: how many there are.
        device: where it computes.
        precision: of the numbers in a network's layers during a step of training.
    """

    rank: int
    size: int
    device: torch.device
    precision: torch.dtype = torch.float32

    def arithmetic(self) -> torch.autocast:
        """The context in which a training step computes its loss."""
        reduced = self.precision != torch.float32
        return torch.autocast(self.device.type, torch.bfloat16, enabled=reduced)

    def barrier(self) -> None:
        """Waits for the other processes."""
        if self.size > 1:
            distributed.barrier()


@contextmanager
def join_group(
    device: str | None, threads: int | None, precision: str = FLOAT32
) -> Iterator[ProcessGroup]:
    """Joins the processes that torchrun started, if any; picks device and precision."""
    chosen = _device(device)
    numbers = choose_precision(precision, chosen)
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Nothing reads memory before it is written; filling it first would cost 5 % of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    if threads is not None:
        torch.set_num_threads(threads)
    size = group_size()
    rank = int(os.environ.get("RANK", "0"))
    if size > 1:
        distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield ProcessGroup(rank, size, chosen, numbers)
    finally:
        if size > 1:
            distributed.destroy_process_group()


def group_size() -> int:
    """The number of processes that torchrun started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def _device(name: str | None) -> torch.device:
    device = choose_device(name or AUTO)
    if device.type == "cuda" and "LOCAL_RANK" in os.environ:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return device
