"""Sokoban levels as text: XSB, SOK with run lengths, Boxoban files, and plans as LURD."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hips.arrays import Actions, Bools, Grid
from hips.domains.sokoban.kernels import (
    BOX,
    BOX_ON_GOAL,
    COLUMN_STEP,
    FLOOR,
    GOAL,
    PLAYER,
    PLAYER_ON_GOAL,
    ROW_STEP,
    WALL,
    step,
)
from hips.errors import LevelError

MIN_SIZE, MAX_SIZE = 3, 64
GLYPHS = "# .$*@+"
"""The XSB character of each symbol."""
BLANKS = " -_"
ROW_SEPARATOR = "|"
LURD = "urdl"
MAX_TEXT_SIZE = 1000
"""Rows or columns of text beyond which a level is rejected unparsed."""

_SYMBOL = {glyph: symbol for symbol, glyph in enumerate(GLYPHS)} | dict.fromkeys(BLANKS, FLOOR)
_ALLOWED = "# @ + $ * . and space, - or _ for floor"
_TOO_LONG = f"the row is too long; at most {MAX_SIZE} columns are allowed"
DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a level and the text column of each cell."""

    line: int
    symbols: list[int]
    columns: list[int]


@dataclass(frozen=True, slots=True)
class _Group:
    """Characters between brackets, each with its column, and their repeat count."""

    count: int
    column: int
    cells: list[tuple[str, int]]


def write(state: Grid) -> str:
    """The level in XSB characters, without a trailing newline."""
    return "\n".join("".join(GLYPHS[cell] for cell in row) for row in state)


def lurd(state: Grid, actions: Actions) -> str:
    """A plan as letters u r d l, capitals for pushes; moves without effect are left out."""
    letters = []
    before = state[None]
    for action in actions:
        after = step(before, np.array([action], dtype=np.int64))
        if not np.array_equal(before, after):
            was_box, is_box = (np.isin(grid, (BOX, BOX_ON_GOAL)) for grid in (before, after))
            letter = LURD[int(action)]
            letters.append(letter if np.array_equal(was_box, is_box) else letter.upper())
        before = after
    return "".join(letters)


def read_lurd(text: str) -> Actions:
    """The actions of a plan in LURD notation, pushes in capitals or not; spaces are skipped.

    Raises:
        LevelError: with the column of a character that is no move.
    """
    actions: list[int] = []
    for column, letter in enumerate(text, start=1):
        if letter.isspace():
            continue
        action = LURD.find(letter.lower()) if letter.isascii() else -1
        if action < 0:
            raise LevelError(f"{letter!r} is no move; allowed: {' '.join(LURD)}", 1, column)
        actions.append(action)
    return np.array(actions, dtype=np.int64)


def pad(level: Grid, shape: tuple[int, int]) -> Grid:
    """The level in the middle of a solid grid of `shape`; unchanged if it does not fit."""
    spare = [wanted - size for wanted, size in zip(shape, level.shape, strict=True)]
    if min(spare) < 0:
        return level
    margins = [(extra // 2, extra - extra // 2) for extra in spare]
    return np.pad(level, margins, constant_values=WALL)


def read_level(lines: list[tuple[int, str]]) -> Grid:
    """The level of consecutive numbered lines, at its own size, with solid walls around the room.

    Raises:
        LevelError: with line, column and reason.
    """
    rows: list[_Row] = []
    for number, line in lines:
        for row in _read_rows(number, line):
            rows.append(row)
            if len(rows) > MAX_TEXT_SIZE:
                reason = f"the level has too many rows; at most {MAX_SIZE} are allowed"
                raise LevelError(reason, lines[0][0], 1)
    width = max(len(row.symbols) for row in rows)
    grid = np.full((len(rows), width), FLOOR, dtype=np.uint8)
    for r, row in enumerate(rows):
        grid[r, : len(row.symbols)] = row.symbols
    _check_counts(grid, rows)
    outside = _outside(grid)
    _check_closed(grid, outside, rows)
    inside_rows, inside_columns = (np.flatnonzero((grid == WALL).any(axis=axis)) for axis in (1, 0))
    grid[outside] = WALL
    level = grid[
        inside_rows[0] : inside_rows[-1] + 1, inside_columns[0] : inside_columns[-1] + 1
    ].copy()
    if max(level.shape) > MAX_SIZE:
        reason = f"{level.shape[0]} rows and {level.shape[1]} columns; at most {MAX_SIZE} of each"
        raise LevelError(f"the level has {reason} are allowed", rows[0].line, 1)
    return level


def _read_rows(number: int, line: str) -> Iterator[_Row]:
    """The rows of one line, run lengths expanded; `|` separates several rows in a line."""
    row = _Row(number, [], [])
    for glyph, column in _expand(number, line.rstrip()):
        if glyph == ROW_SEPARATOR:
            yield row
            row = _Row(number, [], [])
        elif len(row.symbols) == MAX_TEXT_SIZE:
            raise LevelError(_TOO_LONG, number, column)
        else:
            row.symbols.append(_SYMBOL[glyph])
            row.columns.append(column)
    if row.symbols:
        yield row


def _expand(number: int, text: str) -> Iterator[tuple[str, int]]:
    """The characters of a line with their columns; `3#` repeats one, `3(-$)` several."""
    groups: list[_Group] = []
    run = ""
    for column, glyph in enumerate(text, start=1):
        if glyph in DIGITS:
            run += glyph
            continue
        count, run = int(run[:6]) if run else 1, ""
        if count == 0:
            raise LevelError("a run length must be at least 1", number, column)
        if glyph == "(":
            groups.append(_Group(count, column, []))
            continue
        cells = [(glyph, column)]
        if glyph == ")" and groups:
            group = groups.pop()
            count, cells = group.count, group.cells
        elif glyph not in _SYMBOL and glyph != ROW_SEPARATOR:
            reason = f"unknown character {glyph!r}; allowed: {_ALLOWED}"
            raise LevelError(reason, number, column)
        if not groups:
            for _ in range(count):
                yield from cells
        elif len(groups[-1].cells) + count * len(cells) > MAX_TEXT_SIZE:
            raise LevelError(_TOO_LONG, number, column)
        else:
            groups[-1].cells.extend(cells * count)
    if run:
        raise LevelError(f"nothing follows the run length {run[:6]}", number, len(text))
    if groups:
        raise LevelError("this bracket is never closed", number, groups[-1].column)


def fault(grid: Grid) -> str:
    """Why a grid is not a room; empty if it is one."""
    rim = np.concatenate([grid[0], grid[-1], grid[:, 0], grid[:, -1]])
    if (rim != WALL).any():
        return "the room is not closed: the outer ring must be wall"
    rows = [_Row(1, list(row), list(range(1, len(row) + 1))) for row in grid]
    try:
        _check_counts(grid, rows)
    except LevelError as error:
        return error.reason
    return ""


def _check_counts(grid: Grid, rows: list[_Row]) -> None:
    """Requires one player and as many goals as boxes, at least one."""
    players = np.argwhere(grid >= PLAYER)
    boxes = np.argwhere((grid == BOX) | (grid == BOX_ON_GOAL))
    goals = np.argwhere((grid == GOAL) | (grid == BOX_ON_GOAL) | (grid == PLAYER_ON_GOAL))
    num_boxes, num_goals = len(boxes), len(goals)
    if not len(players):
        raise LevelError("the level has no player (@, or + on a goal)", rows[0].line, 1)
    if len(players) > 1:
        raise _error_at(players[1], rows, "a second player; a level has exactly one")
    if not num_boxes and not num_goals:
        raise LevelError("the level has no box ($, or * on a goal)", rows[0].line, 1)
    counted = f"{_count(num_boxes, 'box', 'es')} and {_count(num_goals, 'goal', 's')}"
    counted += "; the numbers must be equal"
    if num_boxes > num_goals:
        raise _error_at(boxes[num_goals], rows, f"more boxes than goals: {counted}")
    if num_goals > num_boxes:
        raise _error_at(goals[num_boxes], rows, f"more goals than boxes: {counted}")


def _count(number: int, word: str, plural: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}{plural}"


def _error_at(cell: tuple[int, int] | Actions, rows: list[_Row], reason: str) -> LevelError:
    row = rows[int(cell[0])]
    # A cell beyond the end of a short row is reported just after its last character.
    columns = [*row.columns, max(row.columns, default=0) + 1]
    return LevelError(reason, row.line, columns[min(int(cell[1]), len(row.columns))])


def _flood(grid: Grid, starts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Open cells connected to `starts`, nearest first."""
    seen = {cell for cell in starts if grid[cell] != WALL}
    queue = deque(sorted(seen))
    while queue:
        r, c = queue.popleft()
        yield r, c
        for row_step, column_step in zip(ROW_STEP, COLUMN_STEP, strict=True):
            beside = (r + row_step, c + column_step)
            is_inside = 0 <= beside[0] < grid.shape[0] and 0 <= beside[1] < grid.shape[1]
            if is_inside and beside not in seen and grid[beside] != WALL:
                seen.add(beside)
                queue.append(beside)


def _is_rim(grid: Grid, cell: tuple[int, int]) -> bool:
    return cell[0] in (0, grid.shape[0] - 1) or cell[1] in (0, grid.shape[1] - 1)


def _outside(grid: Grid) -> Bools:
    """Cells connected to the rim of the text: the surroundings of the room."""
    outside = np.zeros(grid.shape, dtype=np.bool_)
    rim = [(int(r), int(c)) for r, c in np.argwhere(grid != WALL) if _is_rim(grid, (r, c))]
    for cell in _flood(grid, rim):
        outside[cell] = True
    return outside


def _check_closed(grid: Grid, outside: Bools, rows: list[_Row]) -> None:
    """Requires that the player cannot leave and that nothing lies outside."""
    row, column = np.argwhere(grid >= PLAYER)[0]
    if outside[row, column]:
        way_out = next(
            cell for cell in _flood(grid, [(int(row), int(column))]) if _is_rim(grid, cell)
        )
        raise _error_at(way_out, rows, "the room is not closed by walls; the player can leave here")
    stray = np.argwhere(outside & (grid != FLOOR))
    if len(stray):
        raise _error_at(stray[0], rows, "a box or goal outside the walls of the player's room")
