"""Archives of arrays (`.npz`), never with pickles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hips.files import require_regular


@contextmanager
def stored_arrays(path: Path) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
    """The arrays of a regular file by name; damaged ones raise many types of errors."""
    require_regular(path)
    with np.load(path, allow_pickle=False) as arrays:
        yield arrays
