"""The weights of all networks in a bundle: half the bits on disk, full precision in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from hips.errors import ModelError
from hips.files import replacing
from hips.models.networks.assembly import Networks
from hips.models.networks.layers import with_idle_blocks

WEIGHTS = "weights.safetensors"


def save_weights(networks: Networks, folder: Path) -> None:
    """Writes the weights of all networks to a bundle's folder, as fp16."""
    weights = {name: _halved(value).contiguous() for name, value in networks.state_dict().items()}
    with replacing(folder / WEIGHTS) as temporary:
        save_file(weights, temporary)


def load_weights(
    networks: Networks, folder: Path, without: Collection[str] = (), grow: bool = False
) -> None:
    """Puts the weights of a bundle's folder into networks of the same sizes, as fp32.

    The networks named in `without` stay as they are, and may be of any size. With `grow` the
    heuristic may have more blocks than the bundle's; they change nothing until they are trained.

    Raises:
        ModelError: the file is missing, damaged or for networks of other sizes.
    """
    path = folder / WEIGHTS
    if not path.exists():
        raise ModelError(f"{folder}: the file {WEIGHTS} is missing; install the model again.")
    try:
        stored = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: damaged ({error}); install the model again.") from None
    present = networks.state_dict()
    kept = {name: value for name, value in present.items() if name.split(".")[0] in without}
    stored = {n: value for n, value in stored.items() if n.split(".")[0] not in without} | kept
    if grow:
        heuristic = {n: value for n, value in present.items() if n.startswith("heuristic.")}
        stored = with_idle_blocks(stored, heuristic)
    _check_sizes(path, stored, present)
    # Copying into the parameters turns fp16 into their fp32.
    networks.load_state_dict(stored)


def _halved(value: Tensor) -> Tensor:
    """The same as fp16, unless that cannot hold it."""
    if not value.is_floating_point():
        return value
    half = value.half()
    return half if bool(torch.isfinite(half).all()) else value


def _check_sizes(path: Path, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    for name in sorted({*found, *wanted}):
        theirs, ours = _size(found, name), _size(wanted, name)
        if theirs != ours:
            raise ModelError(
                f"{path}: made for networks of other sizes ('{name}' is {theirs} in the file and "
                f"{ours} in the networks)."
            )


def _size(weights: Mapping[str, Tensor], name: str) -> str:
    return str(list(weights[name].shape)) if name in weights else "absent"
