"""Aliases of the array types in use; comments give their shapes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Grid: TypeAlias = npt.NDArray[np.uint8]  # [H, W]
Grids: TypeAlias = npt.NDArray[np.uint8]  # [B, H, W]
Bytes: TypeAlias = npt.NDArray[np.uint8]  # [B, H * W], or a flat buffer
Bools: TypeAlias = npt.NDArray[np.bool_]  # [B]
Ints: TypeAlias = npt.NDArray[np.int64]  # [B]
Ints32: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]
Floats32: TypeAlias = npt.NDArray[np.float32]
Actions: TypeAlias = npt.NDArray[np.int64]  # [B], indices into `GridSpec.actions`
ActionLog: TypeAlias = npt.NDArray[np.uint16]  # actions of edges, stored compactly
Scores: TypeAlias = npt.NDArray[np.float32]  # [B, H, W, symbols]
Image: TypeAlias = npt.NDArray[np.uint8]  # [height, width, 3]
