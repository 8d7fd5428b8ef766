"""What PDDL texts of grid domains share: cells, their neighbours, and plans of four moves."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from hips.domains._geometry import DIRECTIONS
from hips.domains.base import Actions
from hips.errors import LevelError

NEXT_TO = {
    "up": "(above ?to ?from)",
    "right": "(beside ?from ?to)",
    "down": "(above ?from ?to)",
    "left": "(beside ?to ?from)",
}
"""The condition under which a move in each direction leads from `?from` to `?to`."""
_STEP = re.compile(r"(?:[\d.]+\s*:\s*)?\(?\s*move-(\w+)\b")


def cell_name(row: int, column: int) -> str:
    """The PDDL object of a cell."""
    return f"c{row}-{column}"


def neighbours(height: int, width: int) -> str:
    """Facts `(above a b)` and `(beside a b)` (a left of b) of a grid, one a line."""
    facts = [
        f"(above {cell_name(row, column)} {cell_name(row + 1, column)})"
        for row in range(height - 1)
        for column in range(width)
    ]
    facts += [
        f"(beside {cell_name(row, column)} {cell_name(row, column + 1)})"
        for row in range(height)
        for column in range(width - 1)
    ]
    return "\n    ".join(facts)


def format_pddl(domain: str, problems: Iterable[str]) -> str:
    """A domain and its problems as the text of one file."""
    return "\n".join([domain, *problems])


def moves_of_plan(lines: Iterable[str]) -> Actions:
    """Actions of a plan file whose steps are named `move-up`, `move-right` and so on.

    Blank lines and comments (`;`) are skipped; steps may be numbered and in any case.
    """
    names = list(DIRECTIONS)
    actions: list[int] = []
    for number, line in enumerate(lines, start=1):
        step = line.split(";")[0].strip().lower()
        if not step:
            continue
        match = _STEP.match(step)
        if match is None or match.group(1) not in names:
            allowed = ", ".join(f"move-{name}" for name in names)
            raise LevelError(f"not a step of this domain; steps are {allowed}", number, 1)
        actions.append(names.index(match.group(1)))
    return np.array(actions, dtype=np.int64)
