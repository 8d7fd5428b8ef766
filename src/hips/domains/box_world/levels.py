"""The Box-World text format.

One character per cell: `#` wall, `.` floor, `@` agent, `$` gem, a lower-case letter for a key and
a capital for a lock of that colour. `bA` is a box that holds key `b` and opens with key `a`. The
first character of the first row is the held key (or `$`), or `#` if nothing is held:

    #########
    #.......#
    #.@.bA..#
    #.......#
    #..$B.a.#
    #########
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator

import numpy as np

from hips.arrays import Grid
from hips.domains.box_world.kernels import AGENT, FIRST_COLOUR, FLOOR, GEM, WALL
from hips.domains.defaults import scan_blocks
from hips.domains.records import Level
from hips.errors import LevelError

LETTERS = string.ascii_lowercase
_PLAIN = {"#": WALL, ".": FLOOR, "@": AGENT, "$": GEM}
_GLYPHS = {symbol: glyph for glyph, symbol in _PLAIN.items()}


def write(state: Grid) -> str:
    """A state as text, without a trailing newline."""
    rows = []
    for row in state.tolist():
        glyphs = []
        for left, symbol in zip([WALL, *row], row, strict=False):
            glyph = _GLYPHS.get(symbol) or LETTERS[symbol - FIRST_COLOUR]
            is_lock = symbol >= FIRST_COLOUR and left >= GEM
            glyphs.append(glyph.upper() if is_lock else glyph)
        rows.append("".join(glyphs))
    return "\n".join(rows)


def scan(
    lines: Iterable[str], least_side: int, most_side: int, colours: int
) -> Iterator[Level | LevelError]:
    """The levels of a text, each a square of at least `least_side`, padded with wall."""

    def parse(first_line: int, rows: list[str]) -> Grid:
        return _Reader(first_line, rows, colours).read(least_side, most_side)

    return scan_blocks(lines, parse)


class _Reader:
    """Reads one level and locates its errors."""

    def __init__(self, first_line: int, rows: list[str], colours: int) -> None:
        self.first_line, self.rows, self.letters = first_line, rows, LETTERS[:colours]

    def read(self, least_side: int, most_side: int) -> Grid:
        """The level as a square grid."""
        height, width = len(self.rows), len(self.rows[0])
        if max(height, width) > most_side:
            longest = f"{height} rows and {width} columns"
            raise self._error(f"{longest}; at most {most_side} of each are allowed", 0)
        side = max(height, width, least_side)
        grid = np.full((side, side), WALL, dtype=np.uint8)
        for row, line in enumerate(self.rows):
            if len(line) != width:
                reason = f"{len(line)} cells in a row; the first row has {width}"
                raise self._error(reason, row, min(len(line), width))
            for column in range(width):
                grid[row, column] = self._symbol(row, column)
        self._check_border(height, width)
        self._check_once("@", "agent", start=1)
        self._check_once("$", "gem", start=0)
        self._check_treasures()
        return grid

    def _symbol(self, row: int, column: int) -> int:
        glyph = self.rows[row][column]
        if glyph in _PLAIN:
            return _PLAIN[glyph]
        if glyph.lower() in self.letters and glyph.isascii():
            return FIRST_COLOUR + self.letters.index(glyph.lower())
        allowed = f"# . @ $ a-{self.letters[-1]} A-{self.letters[-1].upper()}"
        raise self._error(f"unknown character {glyph!r}; allowed: {allowed}", row, column)

    def _check_border(self, height: int, width: int) -> None:
        for row, line in enumerate(self.rows):
            for column, glyph in enumerate(line):
                inside = 0 < row < height - 1 and 0 < column < width - 1
                held = row == column == 0 and (glyph == "$" or glyph in self.letters)
                if glyph != "#" and not inside and not held:
                    raise self._error(f"{glyph!r} where '#' must close the room", row, column)

    def _check_once(self, glyph: str, name: str, start: int) -> None:
        cells = [
            (row, column)
            for row, line in enumerate(self.rows)
            for column, other in enumerate(line)
            if other == glyph and row >= start
        ]
        if not cells:
            raise self._error(f"no {name} ({glyph!r}); a level has exactly one", 0)
        if len(cells) > 1:
            raise self._error(f"a second {name} ({glyph!r}); a level has exactly one", *cells[1])

    def _check_treasures(self) -> None:
        """Requires content left of each lock; other treasures must not touch in a row."""
        for row, line in enumerate(self.rows):
            for column in range(1, len(line)):
                left, glyph = line[column - 1], line[column]
                content = left == "$" or left in self.letters
                if glyph.isupper() and not content:
                    reason = f"lock {glyph!r} without a key or gem on its left"
                    raise self._error(reason, row, column)
                if left not in "#.@" and (glyph == "$" or glyph in self.letters):
                    reason = f"{glyph!r} touches {left!r} on its left; leave a free cell in between"
                    raise self._error(reason, row, column)

    def _error(self, reason: str, row: int, column: int | None = None) -> LevelError:
        return LevelError(reason, self.first_line + row, None if column is None else column + 1)
