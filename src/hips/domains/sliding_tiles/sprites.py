"""Pictures of sliding tiles: numbered blocks in a tray; tiles in place have a warmer tone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from PIL import Image as Pictures
from PIL import ImageDraw, ImageFont

from hips.arrays import Bools, Grid, Image
from hips.domains.sliding_tiles.digits import inked

OVERSAMPLING = 4
SMALLEST_FONT = 14
"""Pixels of a cell from which a font is legible."""
TRAY = (58, 50, 47)
HOLLOW = (44, 38, 36)
AWAY = ((236, 222, 196), (203, 184, 150), (66, 54, 46))
HOME = ((244, 190, 96), (201, 139, 48), (74, 44, 12))
"""Face, lower edge and ink of a tile out of place, and of one in place."""


def render(state: Grid, cell: int) -> Image:
    """The puzzle as an RGB picture `[H * cell, W * cell, 3]`."""
    height, width = state.shape
    picture = np.empty((height * cell, width * cell, 3), dtype=np.uint8)
    for row in range(height):
        for column in range(width):
            symbol = int(state[row, column])
            at_home = symbol == row * width + column
            rows = slice(row * cell, (row + 1) * cell)
            picture[rows, column * cell : (column + 1) * cell] = tile(symbol, at_home, cell)
    return picture


@lru_cache(maxsize=256)
def tile(symbol: int, at_home: bool, cell: int) -> Image:
    """One cell `[cell, cell, 3]`: the blank, or a block with its number."""
    if cell < SMALLEST_FONT and symbol and (number := inked(symbol)).shape[1] < cell:
        return _pixel_tile(number, HOME if at_home else AWAY, cell)
    side = cell * OVERSAMPLING
    canvas = Pictures.new("RGB", (side, side), TRAY)
    draw = ImageDraw.Draw(canvas)
    gap, radius, edge = side * 0.03, side * 0.14, side * 0.06
    box = (gap, gap, side - 1 - gap, side - 1 - gap)
    if symbol == 0:
        draw.rounded_rectangle(box, radius, fill=HOLLOW)
    else:
        face, shade, ink = HOME if at_home else AWAY
        draw.rounded_rectangle(box, radius, fill=shade)
        draw.rounded_rectangle((*box[:3], box[3] - edge), radius, fill=face)
        font = ImageFont.load_default(size=side * 0.5)
        middle = (side / 2, (side - edge) / 2)
        draw.text(
            middle, str(symbol), fill=ink, font=font, anchor="mm", stroke_width=side // 64,
            stroke_fill=ink,
        )  # fmt: skip
    small = canvas.resize((cell, cell), Pictures.Resampling.LANCZOS)
    return np.asarray(small, dtype=np.uint8)


def _pixel_tile(number: Bools, colours: tuple[tuple[int, int, int], ...], cell: int) -> Image:
    """A block with a gap to its right and below, for terminals."""
    face, _, ink = colours
    picture = np.full((cell, cell, 3), TRAY, dtype=np.uint8)
    picture[:-1, :-1] = face
    top, left = ((cell - 1 - length) // 2 for length in number.shape)
    picture[top : top + number.shape[0], left : left + number.shape[1]][number] = ink
    return picture
