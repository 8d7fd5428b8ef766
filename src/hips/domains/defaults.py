"""What a domain gets for free: a breadth-first expert, a text format and a picture."""

from __future__ import annotations

import colorsys
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hips.errors import ConfigError, ExpertError, LevelError, UnsolvableError

if TYPE_CHECKING:
    from hips.domains.base import Actions, Domain, Grid, Grids, GridSpec, Image

GLYPHS = string.digits + string.ascii_letters
SEPARATOR = ";"
"""Lines that start with this separate levels in a file; what follows is a comment."""


def breadth_first_plan(
    domain: Domain,
    state: Grid,
    rng: np.random.Generator,
    quality: float,
    max_states: int = 200_000,
) -> Actions:
    """A shortest plan after `(1 - quality) * 10` random moves, by breadth-first search."""
    num_actions = domain.spec.num_actions
    prefix = list(rng.integers(num_actions, size=round(10 * (1.0 - quality))))
    for action in prefix:
        state = domain.step(state[None], np.array([action]))[0]
    parents: dict[bytes, tuple[bytes, int]] = {state.tobytes(): (b"", -1)}
    frontier = state[None]
    while len(frontier) and len(parents) < max_states:
        solved = np.flatnonzero(domain.is_goal(frontier))
        if len(solved):
            return np.array(prefix + _walk_back(parents, frontier[solved[0]]), dtype=np.int64)
        frontier = _next_layer(domain, frontier, parents)
    if len(frontier):
        raise ExpertError(f"no plan within {max_states:,} states; give the domain an `expert`")
    raise UnsolvableError("no plan exists: every reachable state was searched")


def _next_layer(domain: Domain, frontier: Grids, parents: dict[bytes, tuple[bytes, int]]) -> Grids:
    layer = []
    for action in range(domain.spec.num_actions):
        children = domain.step(frontier, np.full(len(frontier), action, dtype=np.int64))
        for parent, child in zip(frontier, children, strict=True):
            if (key := child.tobytes()) not in parents:
                parents[key] = (parent.tobytes(), action)
                layer.append(child)
    return np.stack(layer) if layer else frontier[:0]


def _walk_back(parents: dict[bytes, tuple[bytes, int]], state: Grid) -> list[int]:
    actions: list[int] = []
    key, action = parents[state.tobytes()]
    while action >= 0:
        actions.append(action)
        key, action = parents[key]
    return actions[::-1]


def grid_text(spec: GridSpec, state: Grid) -> str:
    """One character a cell: the symbol's index in `GLYPHS`."""
    if spec.num_symbols > len(GLYPHS):
        raise ConfigError(f"the default text format has {len(GLYPHS)} symbols; write your own")
    return "\n".join("".join(GLYPHS[cell] for cell in row) for row in state)


def split_levels(text: str) -> list[tuple[int, list[str]]]:
    """Blocks of non-blank lines with the 1-based number of their first line.

    Blank lines and lines that start with `;` separate levels.
    """
    blocks: list[tuple[int, list[str]]] = []
    previous_blank = True
    for number, line in enumerate(text.splitlines(), start=1):
        blank = not line.strip() or line.lstrip().startswith(SEPARATOR)
        if not blank:
            if previous_blank:
                blocks.append((number, []))
            blocks[-1][1].append(line.rstrip())
        previous_blank = blank
    if not blocks:
        raise LevelError("the text holds no level")
    return blocks


def parse_grids(spec: GridSpec, text: str, glyphs: str | None = None) -> list[Grid]:
    """Levels of exactly the spec's shape, one character a cell (`glyphs[i]` is symbol i)."""
    alphabet = (glyphs or GLYPHS)[: spec.num_symbols]
    symbol = {glyph: index for index, glyph in enumerate(alphabet)}
    return [_parse_block(spec, symbol, first_line, rows) for first_line, rows in split_levels(text)]


def _parse_block(spec: GridSpec, symbol: dict[str, int], first_line: int, rows: list[str]) -> Grid:
    grid = np.zeros(spec.shape, dtype=np.uint8)
    if len(rows) != spec.height:
        raise LevelError(f"{len(rows)} rows where {spec.height} are needed", line=first_line)
    for r, row in enumerate(rows):
        if len(row) != spec.width:
            reason = f"{len(row)} cells in a row where {spec.width} are needed"
            raise LevelError(reason, line=first_line + r, column=min(len(row), spec.width) + 1)
        for c, glyph in enumerate(row):
            if glyph not in symbol:
                reason = f"unknown character {glyph!r}; allowed: {' '.join(symbol)}"
                raise LevelError(reason, line=first_line + r, column=c + 1)
            grid[r, c] = symbol[glyph]
    return grid


def export_text(domain: Domain, states: Sequence[Grid], format: str) -> str:
    """Levels in the domain's text format under numbered `;` lines."""
    require_format(domain, format)
    blocks = (f"{SEPARATOR} {i}\n{domain.text(state)}\n" for i, state in enumerate(states))
    return "\n".join(blocks)


def require_format(domain: Domain, format: str) -> None:
    """Refuses a format the domain does not write."""
    if format not in domain.formats:
        raise ConfigError(
            f"'{domain.name}' has no format '{format}'. Available: {', '.join(domain.formats)}."
        )


def palette(num_symbols: int) -> Image:
    """Colours `[symbols, 3]` that are easy to tell apart; symbol 0 is light grey."""
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
