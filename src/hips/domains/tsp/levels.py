"""Text grids of the travelling salesman, one character per cell.

`.` floor, `o` city, `x` visited city, `S` start; with the agent on it, `a` (floor), `O` or `X`
(a city, which counts as visited) and `A` (start). Maps are square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from hips.arrays import Grid
from hips.domains.defaults import scan_blocks
from hips.domains.records import Level
from hips.domains.tsp.kernels import AGENT, CITY, START, VISITED
from hips.errors import LevelError

GLYPHS = ".oxSaOXA"
MIN_SIZE, MAX_SIZE = 3, 40
_SYMBOLS = {glyph: symbol for symbol, glyph in enumerate(GLYPHS)} | {"O": AGENT + VISITED}


def format_grid(state: Grid) -> str:
    """A map as lines of characters."""
    return "\n".join("".join(GLYPHS[symbol] for symbol in row) for row in state)


def scan_grids(lines: Iterable[str]) -> Iterator[Level | LevelError]:
    """The maps of a text; blank lines and lines that start with `;` separate them."""
    return scan_blocks(lines, _parse_block)


def _parse_block(first_line: int, rows: list[str]) -> Grid:
    size = len(rows[0])
    if not MIN_SIZE <= size <= MAX_SIZE:
        reason = f"{size} cells in a row; maps must have {MIN_SIZE} to {MAX_SIZE}"
        raise LevelError(reason, first_line, min(size, MAX_SIZE + 1))
    if len(rows) != size:
        reason = f"{len(rows)} rows of {size} cells; maps must be square"
        raise LevelError(reason, first_line + min(len(rows), size + 1) - 1, 1)
    grid = np.empty((size, size), dtype=np.uint8)
    for r, row in enumerate(rows):
        line = first_line + r
        for c, glyph in enumerate(row[:size]):
            if glyph not in _SYMBOLS:
                reason = f"unknown character {glyph!r}; allowed: {' '.join(GLYPHS)}"
                raise LevelError(reason, line, c + 1)
            grid[r, c] = _SYMBOLS[glyph]
        if len(row) != size:
            reason = f"{len(row)} cells in a row; the first row has {size}"
            raise LevelError(reason, line, min(len(row), size) + 1)
    _check(grid, first_line)
    return grid


def fault(grid: Grid) -> str:
    """Why a grid is not a map; empty if it is one."""
    try:
        _check(grid, 1)
    except LevelError as error:
        return error.reason
    return ""


def _check(grid: Grid, first_line: int) -> None:
    """Requires one start, one agent and at least one city; locates a second start or agent."""
    wanted = {
        "start (S, or A with the agent on it)": grid % AGENT == START,
        "agent (A on the start, a on floor, X on a city)": grid >= AGENT,
    }
    for what, cells in wanted.items():
        places = np.argwhere(cells)
        if not len(places):
            raise LevelError(f"the map has no {what}", first_line, 1)
        if len(places) > 1:
            row, column = (int(place) for place in places[1])
            raise LevelError(f"the map has a second {what}", first_line + row, column + 1)
    if not np.isin(grid % AGENT, (CITY, VISITED)).any():
        raise LevelError("the map has no city (o, or x if visited)", first_line, 1)
