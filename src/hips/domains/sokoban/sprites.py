"""Pictures of Sokoban, drawn in code."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageDraw

from hips.arrays import Grid, Image
from hips.domains.sokoban.kernels import SYMBOLS

Canvas = ImageDraw.ImageDraw
Colour = tuple[int, int, int]

OVERSAMPLING = 4
FLOOR_COLOUR: Colour = (236, 228, 211)
FLOOR_EDGE: Colour = (224, 214, 194)
MORTAR: Colour = (74, 62, 66)
BRICKS: tuple[Colour, ...] = ((140, 100, 94), (128, 90, 86), (150, 110, 102))
TARGET: Colour = (206, 74, 68)
TARGET_RING: Colour = (240, 190, 176)
CRATE: tuple[Colour, Colour, Colour] = ((196, 140, 74), (158, 106, 50), (108, 70, 32))
STORED_CRATE: tuple[Colour, Colour, Colour] = ((112, 168, 92), (78, 130, 64), (48, 88, 42))
PLAYER_BODY: Colour = (56, 112, 184)
PLAYER_EDGE: Colour = (30, 66, 118)
WHITE: Colour = (255, 255, 255)
INK: Colour = (28, 34, 48)


def render(state: Grid, cell: int) -> Image:
    """An RGB picture `[H * cell, W * cell, 3]`."""
    height, width = state.shape
    picture = _sprites(cell)[state]  # [H, W, cell, cell, 3]
    return np.ascontiguousarray(
        picture.transpose(0, 2, 1, 3, 4).reshape(height * cell, width * cell, 3)
    )


@lru_cache(maxsize=16)
def _sprites(cell: int) -> npt.NDArray[np.uint8]:
    """One picture per symbol, `[symbols, cell, cell, 3]`."""
    return np.stack([_sprite(symbol, cell) for symbol in SYMBOLS])


def _sprite(symbol: str, cell: int) -> Image:
    """Draws a symbol enlarged and shrinks it, which smooths all edges."""
    size = cell * OVERSAMPLING
    picture = Pillow.new("RGB", (size, size), FLOOR_COLOUR)
    canvas = ImageDraw.Draw(picture)
    if symbol == "wall":
        _draw_bricks(canvas, size)
    else:
        canvas.rectangle((0, 0, size - 1, size - 1), outline=FLOOR_EDGE, width=OVERSAMPLING // 2)
        if symbol == "goal":
            _draw_target(canvas, size)
        if symbol == "player_on_goal":
            _disc(canvas, size, 0.5, 0.5, 0.46, TARGET_RING)
        if symbol.startswith("box"):
            _draw_crate(canvas, size, STORED_CRATE if symbol == "box_on_goal" else CRATE)
        if symbol.startswith("player"):
            _draw_player(canvas, size)
    return np.asarray(picture.resize((cell, cell), Pillow.Resampling.LANCZOS), dtype=np.uint8)


def _box(size: int, left: float, top: float, right: float, bottom: float) -> tuple[float, ...]:
    return left * size, top * size, right * size, bottom * size


def _disc(canvas: Canvas, size: int, x: float, y: float, radius: float, colour: Colour) -> None:
    canvas.ellipse(_box(size, x - radius, y - radius, x + radius, y + radius), fill=colour)


def _draw_bricks(canvas: Canvas, size: int) -> None:
    canvas.rectangle((0, 0, size, size), fill=MORTAR)
    gap, rows = 0.025, 4
    for row in range(rows):
        shift = -0.25 if row % 2 else 0.0
        for column in range(3):
            left = shift + column / 2
            colour = BRICKS[(row * 2 + column % 2 + row // 2) % len(BRICKS)]
            area = _box(
                size, left + gap, row / rows + gap, left + 0.5 - gap, (row + 1) / rows - gap
            )
            canvas.rectangle(area, fill=colour)


def _draw_target(canvas: Canvas, size: int) -> None:
    _disc(canvas, size, 0.5, 0.5, 0.3, TARGET_RING)
    _disc(canvas, size, 0.5, 0.5, 0.22, FLOOR_COLOUR)
    _disc(canvas, size, 0.5, 0.5, 0.14, TARGET)


def _draw_crate(canvas: Canvas, size: int, colours: tuple[Colour, Colour, Colour]) -> None:
    light, middle, dark = colours
    radius = 0.06 * size
    canvas.rounded_rectangle(_box(size, 0.07, 0.07, 0.93, 0.93), radius=radius, fill=dark)
    canvas.rounded_rectangle(_box(size, 0.1, 0.1, 0.9, 0.9), radius=radius, fill=light)
    canvas.rectangle(_box(size, 0.23, 0.23, 0.77, 0.77), fill=dark)
    for plank in range(3):
        left = 0.25 + plank * 0.175
        canvas.rectangle(_box(size, left, 0.25, left + 0.15, 0.75), fill=middle)
    brace = [(0.25, 0.64), (0.64, 0.25), (0.75, 0.25), (0.75, 0.36), (0.36, 0.75), (0.25, 0.75)]
    points = [(x * size, y * size) for x, y in brace]
    canvas.polygon(points, fill=light, outline=dark)
    for x in (0.165, 0.835):
        for y in (0.165, 0.835):
            _disc(canvas, size, x, y, 0.025, dark)


def _draw_player(canvas: Canvas, size: int) -> None:
    _disc(canvas, size, 0.5, 0.5, 0.36, PLAYER_EDGE)
    _disc(canvas, size, 0.5, 0.5, 0.325, PLAYER_BODY)
    for x in (0.4, 0.6):
        _disc(canvas, size, x, 0.45, 0.085, WHITE)
        _disc(canvas, size, x, 0.47, 0.045, INK)
    width = max(1, round(0.035 * size))
    canvas.arc(_box(size, 0.38, 0.46, 0.62, 0.7), 25, 155, fill=WHITE, width=width)
