"""Problems as requests describe them: a domain, a size and the cells of the start state."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from hips import domains
from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import HipsError, LevelError
from hips.planner.validate import find_fault
from hips.web.limits import Limits


class Request(BaseModel):
    """Base of all requests: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class DomainChoice(Request):
    """A registered domain and one of its variants."""

    domain: str = Field(max_length=100)
    variant: str | None = Field(None, max_length=100)

    def make(self) -> Domain:
        """The domain."""
        return domains.create(self.domain, self.variant)


class GridChoice(DomainChoice):
    """A domain at the size of a grid."""

    height: int = Field(ge=1)
    width: int = Field(ge=1)

    def grid(self, cells: str) -> Grid:
        """The grid `[H, W]` of encoded cells.

        Raises:
            LevelError: the cells do not fit the size.
        """
        try:
            content = base64.b64decode(cells, validate=True)
        except (binascii.Error, ValueError):
            raise LevelError("cells must be base64 text") from None
        if len(content) != self.height * self.width:
            raise LevelError(
                f"{len(content)} cells; {self.height} × {self.width} = "
                f"{self.height * self.width} are needed"
            )
        return np.frombuffer(content, dtype=np.uint8).reshape(self.height, self.width).copy()


class Problem(GridChoice):
    """A start state."""

    cells: str = Field(max_length=16_384)

    def open(self, limits: Limits) -> Start:
        """Domain and grid.

        Raises:
            LevelError: the size is beyond the limits, or the domain rejects size or symbols.
        """
        check_side(self.height, self.width, limits)
        grid = self.grid(self.cells)
        domain = self.make().for_grid(grid)
        if fault := find_fault(domain, grid):
            raise LevelError(fault)
        return Start(domain, grid)

    def check(self, limits: Limits) -> dict[str, Any]:
        """The start state for the page; a half-drawn one has a fault."""
        try:
            return self.open(limits).describe()
        except LevelError as error:
            size = {"height": self.height, "width": self.width, "cells": self.cells}
            return {**size, "text": "", "fault": error.reason, "solved": False}


@dataclass(frozen=True, slots=True)
class Start:
    """A start state and the domain at its size."""

    domain: Domain
    grid: Grid

    def fault(self) -> str:
        """Why the domain rejects the start state; empty if it accepts it."""
        try:
            # The text format knows rules that go beyond single cells, such as one agent.
            parsed = self.domain.parse(self.domain.text(self.grid))
            if not np.array_equal(parsed, self.grid):
                return "the domain reads this level differently"
            if not self.domain.is_legal(self.grid[None], self.grid[None])[0]:
                return "this is not a legal state"
        except LevelError as error:
            return error.reason
        except HipsError as error:
            return str(error)
        except Exception as error:  # a plug-in's rules may not expect half-drawn levels
            return f"the domain cannot read this level ({type(error).__name__}: {error})"
        return ""

    def describe(self) -> dict[str, Any]:
        """The start state for the page."""
        fault = self.fault()
        return {
            "height": int(self.grid.shape[0]),
            "width": int(self.grid.shape[1]),
            "cells": encode(self.grid),
            "text": "" if fault else self.domain.text(self.grid),
            "fault": fault,
            "solved": not fault and bool(self.domain.is_goal(self.grid[None])[0]),
        }


def encode(grid: Grid) -> str:
    """The cells of a grid as base64 text, row by row."""
    return base64.b64encode(np.ascontiguousarray(grid).tobytes()).decode("ascii")


def check_side(height: int, width: int, limits: Limits) -> None:
    """Rejects levels beyond the limits."""
    if max(height, width) > limits.side:
        raise LevelError(
            f"the level has {height} rows and {width} columns; "
            f"this server takes at most {limits.side} of each"
        )
