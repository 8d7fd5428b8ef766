"""Sliding-tile puzzles as text: one per line or one row per line; `0` or `B` is the blank."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from hips.arrays import Grid
from hips.domains.defaults import shortened
from hips.domains.records import Level
from hips.errors import LevelError

MIN_SIDE, MAX_SIDE = 2, 6
COMMENTS = (";", "#")
_TOKEN = re.compile(r"[^\s,]+")


def format_line(state: Grid) -> str:
    """A puzzle as one line of numbers."""
    return " ".join(str(int(symbol)) for symbol in state.ravel())


class _Line(NamedTuple):
    """A line of numbers, each with its column."""

    number: int
    symbols: list[int]
    columns: list[int]
    length: int


def scan_lines(lines: Iterable[str], height: int, width: int) -> Iterator[Level | LevelError]:
    """The puzzles of a text: one per line, or one row per line.

    Spaces or commas separate numbers. A line of `height * width` numbers has that shape; any
    other count must be a square. Shorter lines are rows of a puzzle that ends at a blank line, or
    as soon as it is square or has the shape `height` x `width`. Lines starting with `;` or `#` are
    comments; the last one is the title of the next puzzle.
    """
    shapes = {(height, width), *((side, side) for side in range(MIN_SIDE, MAX_SIDE + 1))}
    rows: list[_Line] = []
    title = ""
    for found, following in pairwise(chain(_parse_lines(lines, height * width), [""])):
        if isinstance(found, _Line):
            rows.append(found)
            if not _is_complete(rows, following, shapes):
                continue
        if rows:
            yield _puzzle(rows, shapes, title)
            rows, title = [], ""
        if isinstance(found, LevelError):
            yield found
        elif isinstance(found, str):
            title = found or title


def _parse_lines(lines: Iterable[str], count: int) -> Iterator[_Line | LevelError | str]:
    """Lines of numbers, errors, and the texts of comments; blank lines are empty texts."""
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(COMMENTS):
            yield shortened(text.lstrip("".join(COMMENTS)).strip())
            continue
        try:
            yield _parse_line(line, number, max(MAX_SIDE * MAX_SIDE, count))
        except LevelError as error:
            yield error


def _parse_line(line: str, number: int, most: int) -> _Line:
    symbols: list[int] = []
    columns: list[int] = []
    for token in _TOKEN.finditer(line):
        column = token.start() + 1
        if len(symbols) == most:
            raise LevelError(f"more than {most} numbers; one puzzle per line", number, column)
        symbols.append(_parse_symbol(token.group(), number, column))
        columns.append(column)
    return _Line(number, symbols, columns, len(line))


def _is_row(line: _Line | LevelError | str, count: int) -> bool:
    """Whether a line of `count` numbers must be a row: it has too large a number for a puzzle."""
    return isinstance(line, _Line) and len(line.symbols) == count and max(line.symbols) >= count


def _is_complete(
    rows: list[_Line], following: _Line | LevelError | str, shapes: Collection[tuple[int, int]]
) -> bool:
    """Whether these rows are a whole puzzle, or cannot become one by taking the next line."""
    count = len(rows[0].symbols)
    if not MIN_SIDE <= count <= MAX_SIDE:
        return True
    if len(rows) > 1 and ((len(rows), count) in shapes or len(rows) == MAX_SIDE):
        return True
    if not isinstance(following, _Line) or len(following.symbols) != count:
        return True
    is_whole = any(count == height * width for height, width in shapes)
    return (
        len(rows) == 1 and is_whole and not (_is_row(rows[0], count) or _is_row(following, count))
    )


def _puzzle(
    rows: list[_Line], shapes: Collection[tuple[int, int]], title: str
) -> Level | LevelError:
    last = rows[-1]
    try:
        shape = _shape(rows, shapes)
        if shape is None:
            reason = (
                f"{len(last.symbols)} numbers make neither a puzzle nor, alone, the rows of one; "
            )
            reason += f"allowed: {MIN_SIDE}x{MIN_SIDE} to {MAX_SIDE}x{MAX_SIDE}"
            raise LevelError(reason, last.number, max(last.length, 1))
        _check_permutation(rows)
    except LevelError as error:
        return error
    symbols = [symbol for row in rows for symbol in row.symbols]
    return Level(np.array(symbols, dtype=np.uint8).reshape(shape), title)


def _shape(rows: list[_Line], shapes: Collection[tuple[int, int]]) -> tuple[int, int] | None:
    count = len(rows[0].symbols)
    if len(rows) == 1:
        return next((shape for shape in shapes if shape[0] * shape[1] == count), None)
    return len(rows), count


def _parse_symbol(token: str, line: int, column: int) -> int:
    if token in ("B", "b"):
        return 0
    if not (token.isascii() and token.isdigit()) or len(token) > 4:
        shown = token if len(token) <= 12 else token[:12] + "…"
        raise LevelError(f"{shown!r} is not a tile; use numbers, 0 or B as blank", line, column)
    return int(token)


def _check_permutation(rows: list[_Line]) -> None:
    seen: set[int] = set()
    size = sum(len(row.symbols) for row in rows)
    for row in rows:
        for symbol, column in zip(row.symbols, row.columns, strict=True):
            if symbol >= size:
                reason = f"tile {symbol} is too large; the tiles are 0 to {size - 1}"
                raise LevelError(reason, row.number, column)
            if symbol in seen:
                what = "the blank" if symbol == 0 else f"tile {symbol}"
                raise LevelError(f"{what} occurs twice; each must occur once", row.number, column)
            seen.add(symbol)
