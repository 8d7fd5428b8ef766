"""Single states with what an expert says of them: steps that remain, or that no plan exists.

Demonstrations only show good states. A search also meets bad ones; the heuristic learns from these
labels what they are worth.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from hips.domains.base import Domain, Grids
from hips.errors import DatasetError
from hips.files import replacing

FORMAT = "hips-labels"
DEAD_END = -1
"""The label of a state from which no plan exists."""


@dataclass(frozen=True, slots=True)
class StateLabels:
    """States and the steps that remain in them.

    Attributes:
        states: uint8 `[M, H, W]`.
        remaining: int32 `[M]`, or `DEAD_END`.
        origin: where they come from: domain, seed, counts.
    """

    states: Grids
    remaining: npt.NDArray[np.int32]
    origin: dict[str, Any]

    def __len__(self) -> int:
        return len(self.states)

    def subset(self, chosen: npt.NDArray[np.bool_]) -> StateLabels:
        """Those that are chosen, `[M]`."""
        return StateLabels(self.states[chosen], self.remaining[chosen], self.origin)

    def living(self, rng: np.random.Generator, most: int) -> Grids:
        """At most so many states, at random, that have a way on and are no goals, `[N, H, W]`."""
        alive = np.flatnonzero(self.remaining > 0)
        chosen: Grids = self.states[rng.choice(alive, size=min(most, len(alive)), replace=False)]
        return chosen


def save(labels: StateLabels, path: Path) -> None:
    """Writes labels to one compressed file, all or nothing."""
    origin = json.dumps({"format": FORMAT, **labels.origin})
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(
            handle,
            states=labels.states,
            remaining=labels.remaining,
            origin=np.frombuffer(origin.encode(), dtype=np.uint8),
        )


def load(path: Path, domain: Domain) -> StateLabels:
    """Reads labels of `domain`.

    Raises:
        DatasetError: no such file, damaged, or made for another domain.
    """
    try:
        with np.load(path, allow_pickle=False) as content:
            states, remaining = content["states"], content["remaining"]
            origin = json.loads(content["origin"].tobytes())
    except FileNotFoundError:
        raise DatasetError(f"{path}: no such file; make one with `hips explore`.") from None
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise DatasetError(f"{path}: not a file of labelled states ({error}).") from None
    if origin.get("format") != FORMAT or origin.get("domain") != domain.name:
        raise DatasetError(
            f"{path}: made for '{origin.get('domain')}', the training is of '{domain.name}'."
        )
    if states.shape != (len(remaining), *domain.spec.shape) or not len(states):
        raise DatasetError(f"{path}: {list(states.shape)} is not a list of grids of the domain.")
    return StateLabels(states, remaining, origin)


def load_all(paths: Sequence[Path], domain: Domain) -> StateLabels | None:
    """The labels of several files as one; None if there are no files."""
    parts = [load(path, domain) for path in paths]
    if len(parts) < 2:
        return parts[0] if parts else None
    origin = {"domain": domain.name, "parts": [part.origin for part in parts]}
    return StateLabels(
        np.concatenate([part.states for part in parts]),
        np.concatenate([part.remaining for part in parts]),
        origin,
    )
