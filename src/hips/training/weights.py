"""The weights of all parts of a model: fp16 on disk, fp32 in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hips.errors import ModelError
from hips.files import replacing
from hips.models.bundle import Bundle
from hips.models.card import WEIGHTS

IDLE = ("second_norm.weight", "second_norm.bias")
"""Suffixes of weights that, when zero, make a residual block the identity."""


def save_weights(networks: Mapping[str, nn.Module], folder: Path) -> None:
    """Writes the weights of all parts to a model's folder, as fp16."""
    weights = {
        f"{part}.{name}": _halved(value).contiguous()
        for part, network in networks.items()
        for name, value in network.state_dict().items()
    }
    with replacing(folder / WEIGHTS) as temporary:
        save_file(weights, temporary)


def load_weights(networks: Mapping[str, nn.Module], bundle: Bundle, grow: bool = False) -> None:
    """Loads a model's weights into networks of the same sizes, as fp32.

    With `grow`, a network may have more residual blocks than the model's; these are the identity
    until trained.

    Raises:
        ModelError: the file is missing, damaged, or for networks of other sizes.
    """
    path = bundle.folder / WEIGHTS
    if WEIGHTS not in bundle.card.files or not path.is_file():
        raise ModelError(
            f"{bundle.folder}: has no {WEIGHTS}, which training and --device need. Wheels leave it "
            "out: install from the source, or train a model."
        )
    try:
        stored = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: damaged ({error}); install the model again.") from None
    for part, network in networks.items():
        prefix = bundle.card.parts[part].weights + "."
        own = {n.removeprefix(prefix): value for n, value in stored.items() if n.startswith(prefix)}
        present = network.state_dict()
        if grow:
            own = with_idle_blocks(own, present)
        _check_sizes(path, part, own, present)
        # Copying into the parameters converts fp16 to fp32.
        network.load_state_dict(own)


def with_idle_blocks(known: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """`known` weights of a trunk, extended by those of residual blocks that only `own` has.

    The additional blocks are the identity, so the deeper trunk initially equals the known one.
    """
    new = {name: value for name, value in own.items() if name not in known and "blocks." in name}
    idle = {name: torch.zeros_like(value) for name, value in new.items() if name.endswith(IDLE)}
    return {**known, **new, **idle}


def _halved(value: Tensor) -> Tensor:
    """Converts to fp16, unless values overflow."""
    if not value.is_floating_point():
        return value
    half = value.half()
    return half if bool(torch.isfinite(half).all()) else value


def _check_sizes(
    path: Path, part: str, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]
) -> None:
    for name in sorted({*found, *wanted}):
        theirs, ours = _size(found, name), _size(wanted, name)
        if theirs != ours:
            raise ModelError(
                f"{path}: is for a network of another size ('{part}.{name}' is {theirs} in the "
                f"file and {ours} in the network)."
            )


def _size(weights: Mapping[str, Tensor], name: str) -> str:
    return str(list(weights[name].shape)) if name in weights else "absent"


def adopt_trunk(source: nn.Module, target: nn.Module) -> None:
    """Copies the weights of a trunk, unless it has another width or more blocks."""
    own = target.state_dict()
    start = with_idle_blocks(source.state_dict(), own)
    if {name: value.shape for name, value in start.items()} == {
        name: value.shape for name, value in own.items()
    }:
        target.load_state_dict(start)
