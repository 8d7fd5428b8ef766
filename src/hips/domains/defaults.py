"""Defaults of a domain: a breadth-first expert, a text format and a picture."""

from __future__ import annotations

import colorsys
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hips.arrays import Actions, Grid, Image
from hips.domains.breadth_first import BreadthFirst
from hips.domains.records import Level
from hips.errors import ConfigError, ExpertError, LevelError, UnsolvableError

if TYPE_CHECKING:
    from hips.domains.base import Domain, GridSpec

GLYPHS = string.digits + string.ascii_letters
SEPARATOR = ";"
"""Lines that start with this separate levels in a file; the rest of the line is a comment."""
MOST_ROWS = 1000
"""Rows of a block beyond which further ones are dropped; no domain has grids of that size."""
MAX_TITLE = 80
"""Characters of a title."""
_PDDL = re.compile(r"\s*\(\s*define\b", re.IGNORECASE)


def breadth_first_plan(
    domain: Domain,
    state: Grid,
    rng: np.random.Generator,
    quality: float,
    max_states: int = 200_000,
) -> Actions:
    """A shortest plan after `(1 - quality) * 10` random moves, by breadth-first search.

    Random moves that end in a dead end are dropped.
    """
    prefix = rng.integers(domain.spec.num_actions, size=round(10 * (1.0 - quality)))
    after = state
    for action in prefix:
        after = domain.step(after[None], np.array([action]))[0]
    try:
        return np.concatenate([prefix, _shortest(domain, after, max_states)]).astype(np.int64)
    except UnsolvableError:
        if not len(prefix):
            raise
        return _shortest(domain, state, max_states)


def _shortest(domain: Domain, state: Grid, max_states: int) -> Actions:
    search = BreadthFirst(domain, state)
    while len(search.layer) and search.num_states < max_states:
        solved = np.flatnonzero(domain.is_goal(search.layer))
        if len(solved):
            return search.way_to(search.layer[solved[0]])
        search.advance()
    if len(search.layer):
        raise ExpertError(f"no plan within {max_states:,} states; write an `expert` for the domain")
    raise UnsolvableError("no plan exists: every reachable state was searched")


def grid_text(spec: GridSpec, state: Grid) -> str:
    """One character per cell: the symbol's index in `GLYPHS`."""
    if spec.num_symbols > len(GLYPHS):
        raise ConfigError(f"the default text format has only {len(GLYPHS)} symbols; write your own")
    return "\n".join("".join(GLYPHS[cell] for cell in row) for row in state)


class Block(NamedTuple):
    """Consecutive lines of text that form a level."""

    first_line: int
    rows: list[str]
    title: str


def blocks(lines: Iterable[str], most_rows: int = MOST_ROWS) -> Iterator[Block]:
    """Blocks of non-blank lines with the 1-based number of their first line.

    Blank lines and lines that start with `;` separate levels; the text of the last such line is
    the title of the next one. A block is cut after `most_rows` rows and one more, so that a file
    without separators needs no memory.
    """
    block = Block(0, [], "")
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(SEPARATOR):
            if block.rows:
                yield block
                block = Block(0, [], "")
            if text:
                block = Block(0, [], shortened(text.lstrip(SEPARATOR).strip()))
        elif not block.rows:
            block = Block(number, [line.rstrip()], block.title)
        elif len(block.rows) <= most_rows:
            block.rows.append(line.rstrip())
    if block.rows:
        yield block


def shortened(title: str) -> str:
    """A title of at most `MAX_TITLE` characters."""
    return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1] + "…"


def scan_blocks(
    lines: Iterable[str], parse: Callable[[int, list[str]], Grid]
) -> Iterator[Level | LevelError]:
    """The levels of the blocks of `lines`; `parse` takes a block's first line and its rows."""
    for block in blocks(lines):
        try:
            yield Level(parse(block.first_line, block.rows), block.title)
        except LevelError as error:
            yield error


def read_levels(domain: Domain, lines: Iterable[str]) -> Iterator[Level | LevelError]:
    """The levels that the domain scans; an error for a text in PDDL, which is only written."""
    head: list[str] = []
    rest = iter(lines)
    for line in rest:
        head.append(line if line.strip() else "")
        if line.strip() and not line.lstrip().startswith(SEPARATOR):
            break
        if len(head) > MOST_ROWS:
            break
    if head and _PDDL.match(head[-1]):
        yield LevelError(
            f"this is PDDL, which '{domain.name}' writes but does not read; give levels in the "
            f"format '{domain.formats[0]}'",
            len(head),
        )
        return
    yield from domain.scan(chain(head, rest))


def scan_grids(spec: GridSpec, lines: Iterable[str]) -> Iterator[Level | LevelError]:
    """Levels of exactly the spec's shape, one character per cell (`GLYPHS[i]` is symbol i)."""
    symbol = {glyph: index for index, glyph in enumerate(GLYPHS[: spec.num_symbols])}
    return scan_blocks(lines, partial(_parse_block, spec, symbol))


def all_levels(found: Iterable[Level | LevelError]) -> list[Level]:
    """All scanned levels, at least one; raises the first error."""
    levels: list[Level] = []
    for level in found:
        if isinstance(level, LevelError):
            raise level
        levels.append(level)
    if not levels:
        raise LevelError("the text has no level", 1, 1)
    return levels


def _parse_block(spec: GridSpec, symbol: dict[str, int], first_line: int, rows: list[str]) -> Grid:
    grid = np.zeros(spec.shape, dtype=np.uint8)
    if len(rows) != spec.height:
        raise LevelError(f"{len(rows)} rows; {spec.height} are needed", line=first_line)
    for r, row in enumerate(rows):
        if len(row) != spec.width:
            reason = f"{len(row)} cells in a row; {spec.width} are needed"
            raise LevelError(reason, line=first_line + r, column=min(len(row), spec.width) + 1)
        for c, glyph in enumerate(row):
            if glyph not in symbol:
                reason = f"unknown character {glyph!r}; allowed: {' '.join(symbol)}"
                raise LevelError(reason, line=first_line + r, column=c + 1)
            grid[r, c] = symbol[glyph]
    return grid


def text_fault(domain: Domain, state: Grid) -> str:
    """Why the domain's reader rejects the text of a state; empty if it accepts it."""
    try:
        domain.parse(domain.text(state))
    except LevelError as error:
        return error.reason
    return ""


def export_text(domain: Domain, states: Sequence[Grid], format: str) -> str:
    """Levels in the domain's text format, each under a numbered `;` line."""
    require_format(domain, format)
    blocks = (f"{SEPARATOR} {i}\n{domain.text(state)}\n" for i, state in enumerate(states))
    return "\n".join(blocks)


def require_format(domain: Domain, format: str) -> None:
    """Rejects a format that the domain does not write."""
    if format not in domain.formats:
        raise ConfigError(
            f"'{domain.name}' has no format '{format}'. Available: {', '.join(domain.formats)}."
        )


def palette(num_symbols: int) -> Image:
    """Distinct colours `[symbols, 3]`; symbol 0 is light grey."""
    hues = (np.arange(num_symbols) * 0.618034) % 1.0
    colours = [colorsys.hsv_to_rgb(float(hue), 0.55, 0.9) for hue in hues]
    table = (np.array(colours) * 255).astype(np.uint8)
    table[0] = 232
    return table


def render_grid(spec: GridSpec, state: Grid, cell: int) -> Image:
    """Flat coloured cells with a thin grid."""
    picture: Image = palette(spec.num_symbols)[state].repeat(cell, axis=0).repeat(cell, axis=1)
    picture[::cell] = 255
    picture[:, ::cell] = 255
    return picture
