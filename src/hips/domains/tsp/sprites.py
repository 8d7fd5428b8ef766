"""Pictures of the travelling salesman: a paper map with pins, a flag and a round agent."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from PIL import Image as Pictures
from PIL import ImageDraw

from hips.arrays import Grid, Image
from hips.domains.tsp.kernels import AGENT, CITY, START, VISITED

OVERSAMPLING = 4
PAPER = (246, 241, 228)
RULE = (230, 222, 203)
CITY_COLOUR, CITY_EDGE = (214, 69, 52), (142, 36, 26)
VISITED_COLOUR, VISITED_EDGE = (168, 201, 160), (104, 143, 98)
START_COLOUR = (47, 52, 61)
AGENT_COLOUR, AGENT_EDGE = (38, 104, 204), (255, 255, 255)


def render(state: Grid, cell: int) -> Image:
    """The map as an RGB picture `[size * cell, size * cell, 3]`."""
    atlas = np.stack([sprite(symbol, cell) for symbol in range(2 * AGENT)])
    rows, columns = state.shape
    tiled = atlas[state].swapaxes(1, 2)
    return np.ascontiguousarray(tiled).reshape(rows * cell, columns * cell, 3)


@lru_cache(maxsize=64)
def sprite(symbol: int, cell: int) -> Image:
    """One cell `[cell, cell, 3]`."""
    side = cell * OVERSAMPLING
    canvas = Pictures.new("RGB", (side, side), PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.line((0, side - 1, side - 1, side - 1), fill=RULE, width=max(side // 24, 1))
    draw.line((side - 1, 0, side - 1, side - 1), fill=RULE, width=max(side // 24, 1))
    ground = symbol % AGENT
    line = max(side // 20, 1)
    if ground == CITY:
        draw.rounded_rectangle(_square(side, 0.34), side * 0.12, CITY_COLOUR, CITY_EDGE, width=line)
    elif ground == VISITED:
        draw.rounded_rectangle(
            _square(side, 0.34), side * 0.12, VISITED_COLOUR, VISITED_EDGE, width=line
        )
        tick = [(0.34, 0.52), (0.46, 0.64), (0.67, 0.37)]
        draw.line(
            [(x * side, y * side) for x, y in tick], VISITED_EDGE, width=2 * line, joint="curve"
        )
    elif ground == START:
        draw.rounded_rectangle(_square(side, 0.42), side * 0.1, START_COLOUR)
        draw.polygon(
            [(side * x, side * y) for x, y in ((0.5, 0.2), (0.8, 0.5), (0.5, 0.8), (0.2, 0.5))],
            fill=PAPER,
        )
    if symbol >= AGENT:
        draw.ellipse(_square(side, 0.44), AGENT_COLOUR)
        draw.ellipse(_square(side, 0.34), AGENT_EDGE)
        draw.ellipse(_square(side, 0.22), AGENT_COLOUR)
    small = canvas.resize((cell, cell), Pictures.Resampling.LANCZOS)
    return np.asarray(small, dtype=np.uint8)


def _square(side: int, half: float) -> tuple[float, float, float, float]:
    """A centred square box that reaches `half` a side from the middle."""
    return side * (0.5 - half), side * (0.5 - half), side * (0.5 + half), side * (0.5 + half)
