"""Checkpoints as safetensors: weights, optimiser state and a few strings; no pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from hips.errors import HipsError, ModelError
from hips.files import replacing, require_regular

_MODEL, _OPTIMIZER = "model.", "optimizer."


def save(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer | None, facts: dict[str, Any]
) -> None:
    """Writes a checkpoint atomically: if the disk is full, the previous one stays."""
    tensors = {_MODEL + name: value for name, value in module.state_dict().items()}
    if optimizer is not None:
        for index, state in optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"{_OPTIMIZER}{index}.{name}"] = torch.as_tensor(value)
    contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    try:
        with replacing(path) as temporary:
            save_file(contiguous, temporary, metadata={"facts": json.dumps(facts)})
    except (OSError, SafetensorError) as error:
        raise HipsError(
            f"{path}: cannot write the checkpoint ({error}). "
            "The previous one is kept: free some space and run again with --resume."
        ) from error


def load(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> dict[str, Any]:
    """Restores a checkpoint in place and returns its facts."""
    tensors, facts = _read(path)
    weights = {k.removeprefix(_MODEL): v for k, v in tensors.items() if k.startswith(_MODEL)}
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise ModelError(
            f"{path}: the checkpoint is for networks of other sizes ({error})."
        ) from error
    if optimizer is not None:
        _restore_optimizer(optimizer, tensors)
    return facts


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    require_regular(path)
    try:
        with safe_open(path, framework="pt") as handle:
            tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
            metadata = handle.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: not a readable checkpoint ({error}).") from error
    return tensors, json.loads(metadata.get("facts", "{}"))


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    content = optimizer.state_dict()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith(_OPTIMIZER):
            index, name = key.removeprefix(_OPTIMIZER).split(".", 1)
            parameter = parameters[int(index)]
            # Fused optimisers walk through memory: moments need their parameter's memory layout.
            if value.shape == parameter.shape:
                value = torch.empty_like(parameter).copy_(value)
            state.setdefault(int(index), {})[name] = value
    content["state"] = state
    optimizer.load_state_dict(content)
