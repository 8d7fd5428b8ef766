"""Pictures of Box-World, drawn in code: keys, locked chests, the gem, the held key."""

from __future__ import annotations

import colorsys
from functools import lru_cache

import numpy as np
from PIL import Image as Pictures
from PIL import ImageDraw

from hips.arrays import Grid, Image
from hips.domains.box_world import kernels
from hips.domains.box_world.kernels import AGENT, FIRST_COLOUR, GEM, WALL

Colour = tuple[int, int, int]

UNITS = 64
"""Sprites are drawn on 64 × 64 units and scaled down, which smooths their edges."""
OVERSAMPLING = 4

WALL_COLOUR: Colour = (74, 80, 96)
WALL_LIGHT: Colour = (92, 99, 118)
WALL_DARK: Colour = (58, 63, 77)
FLOOR_COLOUR: Colour = (238, 234, 226)
FLOOR_LINE: Colour = (224, 219, 208)
CHEST: Colour = (96, 72, 52)
CHEST_INSIDE: Colour = (250, 244, 230)
INK: Colour = (40, 36, 48)
AGENT_COLOUR: Colour = (52, 62, 84)
GEM_LIGHT: Colour = (190, 244, 255)
GEM_MIDDLE: Colour = (92, 206, 240)
GEM_DARK: Colour = (36, 148, 204)
HAND: Colour = (250, 248, 240)


def draw(state: Grid, cell: int, colours: int) -> Image:
    """An RGB picture `[H * cell, W * cell, 3]` of a state."""
    height, width = state.shape
    picture = np.empty((height * cell, width * cell, 3), dtype=np.uint8)
    for row in range(height):
        for column in range(width):
            place = _place(state, row, column)
            sprite = _sprite(int(state[row, column]), place, cell, colours)
            picture[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell] = sprite
    return picture


def _place(state: Grid, row: int, column: int) -> str:
    """What a cell belongs to: the `hand`, a box's `lock` or `content`, or the `room`."""
    if row == column == 0:
        return "hand"
    inside = 0 < row < state.shape[0] - 1 and 0 < column < state.shape[1] - 1
    if not inside or state[row, column] < GEM or kernels.is_loose(state, row, column):
        return "room"
    return "lock" if kernels.is_lock(state, row, column) else "content"


@lru_cache(maxsize=1024)
def _sprite(symbol: int, place: str, cell: int, colours: int) -> Image:
    """One cell, `[cell, cell, 3]`."""
    side = UNITS * OVERSAMPLING
    canvas = Pictures.new("RGB", (side, side), FLOOR_COLOUR)
    brush = _Brush(ImageDraw.Draw(canvas))
    if symbol == WALL or place == "hand":
        brush.wall()
    else:
        brush.floor()
    if place == "hand":
        brush.rectangle(7, 7, 57, 57, HAND, radius=10)
    elif place == "content":
        brush.rectangle(4, 8, 70, 56, CHEST, radius=8)
        brush.rectangle(10, 14, 70, 50, CHEST_INSIDE, radius=4)
    elif place == "lock":
        brush.rectangle(-6, 8, 60, 56, CHEST, radius=8)
    if symbol == AGENT:
        brush.agent()
    elif symbol == GEM:
        brush.gem()
    elif symbol >= FIRST_COLOUR:
        colour = _key_colour(symbol - FIRST_COLOUR, colours)
        if place == "lock":
            brush.lock(colour)
        else:
            brush.key(colour)
    return np.asarray(canvas.resize((cell, cell), Pictures.Resampling.LANCZOS))


def _key_colour(index: int, colours: int) -> Colour:
    """Hues around the colour circle, in three shades so that neighbours differ."""
    saturation, value = ((0.80, 0.92), (0.55, 0.68), (0.95, 0.55))[index % 3]
    red, green, blue = colorsys.hsv_to_rgb(index / max(colours, 1), saturation, value)
    return round(255 * red), round(255 * green), round(255 * blue)


class _Brush:
    """Draws on a canvas measured in `UNITS`."""

    def __init__(self, canvas: ImageDraw.ImageDraw) -> None:
        self.canvas = canvas

    def rectangle(
        self, left: float, top: float, right: float, bottom: float, fill: Colour, radius: float = 0
    ) -> None:
        corners = [OVERSAMPLING * value for value in (left, top, right, bottom)]
        self.canvas.rounded_rectangle(corners, OVERSAMPLING * radius, fill=fill)

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        corners = (x - radius, y - radius, x + radius, y + radius)
        self.canvas.ellipse([OVERSAMPLING * value for value in corners], fill=fill)

    def polygon(self, points: list[tuple[float, float]], fill: Colour) -> None:
        scaled = [(OVERSAMPLING * x, OVERSAMPLING * y) for x, y in points]
        self.canvas.polygon(scaled, fill=fill)

    def wall(self) -> None:
        self.rectangle(0, 0, 64, 64, WALL_DARK)
        self.rectangle(0, 0, 62, 62, WALL_LIGHT)
        self.rectangle(3, 3, 62, 62, WALL_COLOUR)

    def floor(self) -> None:
        self.rectangle(0, 0, 64, 64, FLOOR_LINE)
        self.rectangle(1, 1, 64, 64, FLOOR_COLOUR)

    def agent(self) -> None:
        self.disc(32, 32, 23, AGENT_COLOUR)
        for x in (24, 40):
            self.disc(x, 28, 6, (255, 255, 255))
            self.disc(x, 29, 3, INK)
        self.rectangle(24, 40, 40, 43, (255, 255, 255), radius=1.5)

    def gem(self) -> None:
        self.polygon([(20, 16), (44, 16), (54, 28), (32, 52), (10, 28)], INK)
        self.polygon([(21, 18), (32, 18), (24, 28), (13, 28)], GEM_LIGHT)
        self.polygon([(32, 18), (43, 18), (51, 28), (40, 28)], GEM_MIDDLE)
        self.polygon([(32, 18), (24, 28), (40, 28)], (236, 252, 255))
        self.polygon([(13, 29), (24, 29), (31, 48)], GEM_MIDDLE)
        self.polygon([(25, 29), (39, 29), (32, 49)], GEM_LIGHT)
        self.polygon([(40, 29), (51, 29), (33, 48)], GEM_DARK)

    def key(self, colour: Colour) -> None:
        for edge, fill in ((2.5, INK), (0.0, colour)):
            self.disc(21, 32, 11 + edge, fill)
            self.rectangle(28 - edge, 29 - edge, 55 + edge, 35 + edge, fill)
            self.rectangle(41 - edge, 33 - edge, 46 + edge, 42 + edge, fill)
            self.rectangle(50 - edge, 33 - edge, 55 + edge, 44 + edge, fill)
        self.disc(21, 32, 6.5, INK)
        self.disc(21, 32, 4.5, (255, 255, 255))

    def lock(self, colour: Colour) -> None:
        self.rectangle(-6, 13, 55, 51, colour, radius=5)
        self.disc(28, 28, 7, INK)
        self.polygon([(28, 26), (34, 45), (22, 45)], INK)
