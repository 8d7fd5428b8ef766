"""Rotations and reflections of grids, as symmetries of domains whose actions are directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hips.arrays import Grids
from hips.domains.base import Symmetry

DIRECTIONS: dict[str, tuple[int, int]] = {
    "up": (-1, 0),
    "right": (0, 1),
    "down": (1, 0),
    "left": (0, -1),
}
"""Row and column offsets of the four moves, by name."""


def dihedral(
    actions: Sequence[str] = ("up", "right", "down", "left"), square: bool = True
) -> tuple[Symmetry, ...]:
    """Symmetries of a grid, other than the identity, for actions that are directions.

    Args:
        actions: the domain's action names in order, each a key of `DIRECTIONS`.
        square: whether height equals width. If not, only the half turn and the two
            reflections preserve the shape.

    Returns:
        The seven rotations and reflections of a square, or the three of a rectangle.
    """
    transposed = (False, True) if square else (False,)
    return tuple(
        _symmetry(actions, transpose, flip_rows, flip_columns)
        for transpose in transposed
        for flip_rows in (False, True)
        for flip_columns in (False, True)
        if transpose or flip_rows or flip_columns
    )


def _symmetry(
    actions: Sequence[str], transpose: bool, flip_rows: bool, flip_columns: bool
) -> Symmetry:
    """Transposes first, then flips rows and columns, each if its flag is set."""
    name_of = {step: name for name, step in DIRECTIONS.items()}
    images = []
    for name in actions:
        row, column = DIRECTIONS[name]
        if transpose:
            row, column = column, row
        image = (-row if flip_rows else row, -column if flip_columns else column)
        images.append(actions.index(name_of[image]))
    parts = (("transpose", transpose), ("flip_rows", flip_rows), ("flip_columns", flip_columns))
    label = "+".join(part for part, used in parts if used)
    return Symmetry(label, _transform(transpose, flip_rows, flip_columns), tuple(images))


def _transform(transpose: bool, flip_rows: bool, flip_columns: bool) -> Callable[[Grids], Grids]:
    row_order = -1 if flip_rows else 1
    column_order = -1 if flip_columns else 1

    def transform(states: Grids) -> Grids:
        turned = states.swapaxes(1, 2) if transpose else states
        return np.ascontiguousarray(turned[:, ::row_order, ::column_order])

    return transform
