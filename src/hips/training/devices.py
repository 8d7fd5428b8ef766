"""The choice of torch device, and of the numbers that it computes with."""

from __future__ import annotations

import torch

from hips.errors import ConfigError
from hips.training.config import AUTO, BFLOAT16, FLOAT32

NATIVE_BFLOAT16 = ("avx512_bf16", "amx_bf16")
"""Abilities of a processor that make 16-bit training faster; without them it is far slower."""


def choose_device(name: str) -> torch.device:
    """The torch device `name`; `auto` is the GPU if there is one, else the CPU.

    Raises:
        ConfigError: this machine has no such device.
    """
    if name == AUTO:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        present = ", ".join(["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))])
        raise ConfigError(
            f"Cannot use device '{name}' here ({reason}). Available: {AUTO}, {present}."
        ) from None
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of the numbers in a network's layers; `auto` is 16-bit where the device has it."""
    if name == AUTO:
        name = BFLOAT16 if _computes_bfloat16(device) else FLOAT32
    return torch.bfloat16 if name == BFLOAT16 else torch.float32


def _computes_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    abilities = torch.cpu.get_capabilities()
    return any(abilities.get(ability, False) for ability in NATIVE_BFLOAT16)
