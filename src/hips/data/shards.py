"""Shards: the files of a dataset, each with a few hundred demonstrations and their origin.

A shard is an uncompressed `.npz` without pickles, so the same demonstrations give the same bytes
on every machine. It appears under its name only once complete.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hips.archives import stored_arrays
from hips.arrays import Grids
from hips.data.dataset import ActionCodes, Offsets
from hips.domains.base import GridSpec
from hips.errors import DatasetError, HipsError
from hips.files import replacing

SHARD_SIZE = 256
"""Levels per shard. Part of the format: it determines the random stream of each level."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a dataset.

    Attributes:
        starts: `uint8 [N, H, W]`.
        actions: `[sum of steps]`.
        offsets: `int64 [N + 1]` into `actions`.
        origin: settings it was made with, JSON-compatible.
    """

    starts: Grids
    actions: ActionCodes
    offsets: Offsets
    origin: dict[str, Any]


def shard_name(index: int) -> str:
    """The file name of shard `index`."""
    return f"shard-{index:05d}.npz"


def write_shard(path: Path, shard: Shard) -> None:
    """Writes a shard atomically."""
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
    """Reads a shard and checks that it is intact (and fits `spec`).

    Raises:
        DatasetError: names the shard and its fault.
    """
    try:
        with stored_arrays(path) as arrays:
            shard = Shard(
                starts=arrays["starts"],
                actions=arrays["actions"],
                offsets=arrays["offsets"],
                origin=json.loads(arrays["origin"].tobytes()),
            )
    except HipsError:
        raise
    except FileNotFoundError:
        raise DatasetError(f"{path}: the shard is missing; collect again to restore it.") from None
    except Exception as error:  # zipfile and NumPy raise many types on damaged bytes
        raise DatasetError(f"{path}: the shard is damaged ({error}).") from error
    if (flaw := _flaw(shard, spec)) is not None:
        raise DatasetError(f"{path}: the shard is damaged ({flaw}).")
    return shard


def _flaw(shard: Shard, spec: GridSpec | None) -> str | None:
    """The first fault of a shard's arrays, if any."""
    starts, actions, offsets = shard.starts, shard.actions, shard.offsets
    if starts.dtype != np.uint8 or starts.ndim != 3:
        return "start states are not uint8 grids"
    if actions.dtype not in (np.uint8, np.uint16) or actions.ndim != 1:
        return "actions are not a list of small integers"
    if offsets.dtype != np.int64 or offsets.shape != (len(starts) + 1,):
        return "the numbers of plans and start states differ"
    if offsets[0] != 0 or offsets[-1] != len(actions) or (np.diff(offsets) < 0).any():
        return "the offsets of the plans do not match the actions"
    if spec is None:
        return None
    if starts.shape[1:] != spec.shape:
        return f"grids have shape {starts.shape[1:]}, not {spec.shape}"
    if len(starts) and starts.max() >= spec.num_symbols:
        return f"cells hold symbols beyond {spec.num_symbols - 1}"
    if len(actions) and actions.max() >= spec.num_actions:
        return f"actions go beyond {spec.num_actions - 1}"
    return None
