"""Sliding-tile puzzles as text: one per line, row by row; `0` or `B` is the blank."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import isqrt

import numpy as np

from hips.arrays import Grid
from hips.errors import LevelError

MIN_SIDE, MAX_SIDE = 2, 6
COMMENTS = (";", "#")
_TOKEN = re.compile(r"[^\s,]+")


def format_line(state: Grid) -> str:
    """A puzzle as one line of numbers."""
    return " ".join(str(int(symbol)) for symbol in state.ravel())


def scan_lines(lines: Iterable[str], height: int, width: int) -> Iterator[Grid | LevelError]:
    """The puzzles of a text, one per line.

    Spaces or commas separate numbers. A line of `height * width` numbers has that shape; any
    other count must be a square. Blank lines and lines starting with `;` or `#` are skipped.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith(COMMENTS):
            try:
                yield _parse_line(line, number, height, width)
            except LevelError as error:
                yield error


def _parse_line(line: str, number: int, height: int, width: int) -> Grid:
    most = max(MAX_SIDE * MAX_SIDE, height * width)
    symbols: list[int] = []
    columns: list[int] = []
    for token in _TOKEN.finditer(line):
        column = token.start() + 1
        if len(symbols) == most:
            raise LevelError(f"more than {most} numbers; one puzzle per line", number, column)
        symbols.append(_parse_symbol(token.group(), number, column))
        columns.append(column)
    shape = _shape(len(symbols), height, width, number, len(line))
    _check_permutation(symbols, columns, number)
    return np.array(symbols, dtype=np.uint8).reshape(shape)


def _parse_symbol(token: str, line: int, column: int) -> int:
    if token in ("B", "b"):
        return 0
    if not (token.isascii() and token.isdigit()) or len(token) > 4:
        shown = token if len(token) <= 12 else token[:12] + "…"
        raise LevelError(f"{shown!r} is not a tile; use numbers, 0 or B as blank", line, column)
    return int(token)


def _shape(count: int, height: int, width: int, line: int, length: int) -> tuple[int, int]:
    if count == height * width:
        return height, width
    side = isqrt(count)
    if side * side == count and MIN_SIDE <= side <= MAX_SIDE:
        return side, side
    raise LevelError(
        f"{count} numbers make neither a {height}x{width} puzzle nor a square one "
        f"from {MIN_SIDE}x{MIN_SIDE} to {MAX_SIDE}x{MAX_SIDE}",
        line,
        max(length, 1),
    )


def _check_permutation(symbols: list[int], columns: list[int], line: int) -> None:
    seen: set[int] = set()
    for symbol, column in zip(symbols, columns, strict=True):
        if symbol >= len(symbols):
            reason = f"tile {symbol} is too large; the tiles are 0 to {len(symbols) - 1}"
            raise LevelError(reason, line, column)
        if symbol in seen:
            what = "the blank" if symbol == 0 else f"tile {symbol}"
            raise LevelError(f"{what} occurs twice; each must occur once", line, column)
        seen.add(symbol)
