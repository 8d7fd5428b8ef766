"""Single states labelled by an expert: remaining steps, or that no plan exists.

Demonstrations show only good states. A search also visits bad ones; these labels teach the
heuristic their value.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hips.archives import stored_arrays
from hips.arrays import Actions, Grid, Grids
from hips.domains.base import Domain
from hips.errors import DatasetError, HipsError, UnsolvableError
from hips.files import replacing

FORMAT = "hips-labels"
DEAD_END = -1
"""The label of a state from which no plan exists."""


@dataclass(frozen=True, slots=True)
class StateLabels:
    """States and their remaining steps.

    Attributes:
        states: uint8 `[M, H, W]`.
        remaining: int32 `[M]`, or `DEAD_END`.
        origin: domain, seed and counts of the collection.
    """

    states: Grids
    remaining: npt.NDArray[np.int32]
    origin: dict[str, Any]

    def __len__(self) -> int:
        return len(self.states)

    def subset(self, chosen: npt.NDArray[np.bool_]) -> StateLabels:
        """The labels selected by the mask `chosen`, `[M]`."""
        return StateLabels(self.states[chosen], self.remaining[chosen], self.origin)

    def solvable(self, rng: np.random.Generator, most: int) -> Grids:
        """At most `most` random states that are solvable but not solved, `[N, H, W]`."""
        alive = np.flatnonzero(self.remaining > 0)
        chosen: Grids = self.states[rng.choice(alive, size=min(most, len(alive)), replace=False)]
        return chosen


def consult(domain: Domain, state: Grid, rng: np.random.Generator) -> Actions | None:
    """The expert's plan from a state, or None if no plan exists.

    Raises:
        ExpertError: the expert gives up.
    """
    try:
        return domain.expert(state, rng)
    except UnsolvableError:
        return None


def join(parts: Sequence[StateLabels], origin: dict[str, Any]) -> StateLabels:
    """Joins several sets of labels."""
    return StateLabels(
        np.concatenate([part.states for part in parts]),
        np.concatenate([part.remaining for part in parts]).astype(np.int32),
        origin,
    )


def save(labels: StateLabels, path: Path) -> None:
    """Writes labels to one compressed file, atomically."""
    origin = json.dumps({"format": FORMAT, **labels.origin})
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(
            handle,
            states=labels.states,
            remaining=labels.remaining,
            origin=np.frombuffer(origin.encode(), dtype=np.uint8),
        )


def load(path: Path, domain: Domain, allow_empty: bool = False) -> StateLabels:
    """Reads labels of `domain`.

    Args:
        path: the file.
        domain: the domain that the labels must be of.
        allow_empty: accept a file without a state.

    Raises:
        DatasetError: the file is missing, damaged, or of another domain.
    """
    try:
        with stored_arrays(path) as content:
            states, remaining = content["states"], content["remaining"]
            origin = json.loads(content["origin"].tobytes())
            known = origin["format"] == FORMAT and origin["domain"] == domain.name
    except HipsError:
        raise
    except FileNotFoundError:
        raise DatasetError(f"{path}: no such file; make one with `hips explore`.") from None
    except Exception as error:  # zipfile, zlib and NumPy raise many types on damaged bytes
        raise DatasetError(f"{path}: not a file of labelled states ({error!r}).") from None
    if not known:
        raise DatasetError(f"{path}: has labels of '{origin['domain']}', not of '{domain.name}'.")
    if flaw := _flaw(states, remaining, domain, allow_empty):
        raise DatasetError(f"{path}: {flaw}.")
    return StateLabels(states, remaining.astype(np.int32), origin)


def _flaw(states: Any, remaining: Any, domain: Domain, allow_empty: bool) -> str:
    """The first fault of the arrays of a file of labels; empty if there is none."""
    if states.shape != (*remaining.shape, *domain.spec.shape) or states.dtype != np.uint8:
        return f"states {states.dtype} {list(states.shape)} are not grids of the domain"
    if not len(states):
        return "" if allow_empty else "holds no state"
    if states.max() >= domain.spec.num_symbols:
        return f"cells hold symbols beyond {domain.spec.num_symbols - 1}"
    if not np.issubdtype(remaining.dtype, np.integer):
        return f"labels are {remaining.dtype}, not whole numbers of steps"
    if remaining.min() < DEAD_END or remaining.max() > np.iinfo(np.int32).max:
        return f"labels must be numbers of steps, or {DEAD_END} for a dead end"
    return ""


def load_all(paths: Sequence[Path], domain: Domain) -> StateLabels | None:
    """Joins the labels of several files; None without files."""
    parts = [load(path, domain) for path in paths]
    if len(parts) < 2:
        return parts[0] if parts else None
    return join(parts, {"domain": domain.name, "parts": [part.origin for part in parts]})
