"""Digits of 3 × 5 pixels, for tiles too small for a font."""

from __future__ import annotations

import numpy as np

from hips.arrays import Bools

GLYPHS = (
    "111 101 101 101 111",
    "010 110 010 010 111",
    "111 001 111 100 111",
    "111 001 111 001 111",
    "101 101 111 001 001",
    "111 100 111 001 111",
    "111 100 111 101 111",
    "111 001 010 010 010",
    "111 101 111 101 111",
    "111 101 111 001 111",
)
HEIGHT, WIDTH = 5, 3


def inked(number: int) -> Bools:
    """Which pixels `[5, W]` of a number have ink; one empty column between digits."""
    columns: list[Bools] = []
    for digit in str(number):
        glyph = [[pixel == "1" for pixel in row] for row in GLYPHS[int(digit)].split()]
        columns += [np.zeros((HEIGHT, 1), dtype=np.bool_)] if columns else []
        columns.append(np.array(glyph, dtype=np.bool_))
    return np.concatenate(columns, axis=1)
