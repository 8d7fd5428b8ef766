"""Pictures for the page: states, symbols and animated plans."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from hips.arrays import Grid, Image
from hips.domains import defaults
from hips.domains.base import Domain
from hips.errors import ConfigError, LevelError
from hips.pictures import fitting_cell, gif_bytes, plan_frames, png_bytes
from hips.web.limits import Limits
from hips.web.problems import DomainChoice, GridChoice, Problem, check_side

GIF_SIZE = 320
SYMBOL_CELL = 32


class PicturesRequest(GridChoice):
    """States to draw, one below the other, with `cell` pixels per cell."""

    cells: list[str] = Field(min_length=1, max_length=256)
    cell: int = Field(24, ge=2, le=96)

    def draw(self, limits: Limits) -> bytes:
        """One PNG `[N * H * cell, W * cell]`."""
        check_side(self.height, self.width, limits)
        domain = self.make()
        pixels = len(self.cells) * self.height * self.width * self.cell**2
        if pixels > limits.pixels:
            raise ConfigError(
                f"{pixels:,} pixels are too many; at most {limits.pixels:,}. Ask for fewer states."
            )
        pictures = [draw(domain, self.grid(cells), self.cell) for cells in self.cells]
        return png_bytes(np.concatenate(pictures))


class GifRequest(Problem):
    """A plan to animate; the states after `subgoals` steps get a frame."""

    plan: list[str] = Field(max_length=5_000)
    subgoals: list[int] = Field([], max_length=5_000)

    def animate(self, limits: Limits) -> bytes:
        """The GIF."""
        start = self.open(limits)
        if len(self.plan) >= limits.frames:
            raise ConfigError(
                f"{len(self.plan)} steps are too many; at most {limits.frames - 1} are animated."
            )
        marked = {step for step in self.subgoals if 0 <= step <= len(self.plan)}
        cell = fitting_cell(start.domain, GIF_SIZE)
        actions = start.domain.spec.action_indices(self.plan)
        return gif_bytes(plan_frames(start.domain, start.grid, actions, cell, marked))


def draw(domain: Domain, grid: Grid, cell: int) -> Image:
    """The domain's picture; flat cells where it cannot draw a half-drawn level."""
    inside = np.minimum(grid, domain.spec.num_symbols - 1).astype(np.uint8)
    try:
        return _sized(domain, inside).render(inside, cell)
    except Exception:  # a plug-in's drawing may not expect half-drawn levels
        return defaults.render_grid(domain.spec, inside, cell)


def _sized(domain: Domain, grid: Grid) -> Domain:
    """The domain of a grid; the domain itself if it rejects the half-drawn grid."""
    try:
        return domain.for_grid(grid)
    except LevelError:
        return domain


def draw_symbols(choice: DomainChoice) -> bytes:
    """One PNG with a picture of every symbol, one below the other."""
    domain = choice.make()
    pieces: Sequence[Image] = [_symbol(domain, i) for i in range(domain.spec.num_symbols)]
    return png_bytes(np.concatenate(pieces))


def _symbol(domain: Domain, symbol: int) -> Image:
    """The picture of one symbol: the middle cell of a grid that has it there."""
    height, width = domain.spec.shape
    row, column = height // 2, width // 2
    grid = np.zeros((height, width), dtype=np.uint8)
    grid[row, column] = symbol
    picture = draw(domain, grid, SYMBOL_CELL)
    top, left = row * SYMBOL_CELL, column * SYMBOL_CELL
    return picture[top : top + SYMBOL_CELL, left : left + SYMBOL_CELL]
