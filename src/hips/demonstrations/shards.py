"""Shards: the files of a dataset, each holding a few hundred demonstrations and its own origin.

A shard is an `.npz` without compression and without pickles, so the same demonstrations are the
same bytes on every machine. It appears under its name only when it is complete.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hips.demonstrations.dataset import ActionCodes, Offsets
from hips.domains.base import Grids, GridSpec
from hips.errors import DatasetError
from hips.files import replacing

SHARD_SIZE = 256
"""Levels per shard. Part of the format: it decides which random stream a level comes from."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a dataset.

    Attributes:
        starts: `uint8 [N, H, W]`.
        actions: `[sum of steps]`.
        offsets: `int64 [N + 1]` into `actions`.
        origin: what the shard was made from, JSON-compatible.
    """

    starts: Grids
    actions: ActionCodes
    offsets: Offsets
    origin: dict[str, Any]


def shard_name(index: int) -> str:
    """The file name of shard `index`."""
    return f"shard-{index:05d}.npz"


def write_shard(path: Path, shard: Shard) -> None:
    """Writes a shard, all or nothing."""
    origin = json.dumps(shard.origin, sort_keys=True, ensure_ascii=False).encode()
    with replacing(path) as temporary:
        np.savez(
            temporary,
            starts=shard.starts,
            actions=shard.actions,
            offsets=shard.offsets,
            origin=np.frombuffer(origin, dtype=np.uint8),
        )


def read_shard(path: Path, spec: GridSpec | None = None) -> Shard:
    """Reads a shard and checks that it is whole (and fits `spec`).

    Raises:
        DatasetError: naming the shard and what is wrong with it.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            shard = Shard(
                starts=arrays["starts"],
                actions=arrays["actions"],
                offsets=arrays["offsets"],
                origin=json.loads(arrays["origin"].tobytes()),
            )
    except FileNotFoundError:
        raise DatasetError(f"{path}: the shard is missing; collect again to restore it.") from None
    except Exception as error:  # zipfile and NumPy raise a dozen kinds on damaged bytes
        raise DatasetError(f"{path}: the shard is damaged ({error}).") from error
    if (flaw := _flaw(shard, spec)) is not None:
        raise DatasetError(f"{path}: the shard is damaged ({flaw}).")
    return shard


def _flaw(shard: Shard, spec: GridSpec | None) -> str | None:
    """The first thing wrong with the arrays of a shard, if any."""
    starts, actions, offsets = shard.starts, shard.actions, shard.offsets
    if starts.dtype != np.uint8 or starts.ndim != 3:
        return "start states are not uint8 grids"
    if actions.dtype not in (np.uint8, np.uint16) or actions.ndim != 1:
        return "actions are not a list of small numbers"
    if offsets.dtype != np.int64 or offsets.shape != (len(starts) + 1,):
        return "there are not as many plans as start states"
    if offsets[0] != 0 or offsets[-1] != len(actions) or (np.diff(offsets) < 0).any():
        return "the plans do not follow each other"
    if spec is None:
        return None
    if starts.shape[1:] != spec.shape:
        return f"grids have shape {starts.shape[1:]}, not {spec.shape}"
    if len(starts) and starts.max() >= spec.num_symbols:
        return f"cells hold symbols beyond {spec.num_symbols - 1}"
    if len(actions) and actions.max() >= spec.num_actions:
        return f"actions go beyond {spec.num_actions - 1}"
    return None
