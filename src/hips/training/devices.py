"""The choice of torch device."""

from __future__ import annotations

import torch

from hips.errors import ConfigError

AUTO = "auto"


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
