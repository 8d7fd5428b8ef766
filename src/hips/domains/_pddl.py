"""Shared PDDL code of grid domains: cells, neighbours, files and plans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from hips.arrays import Actions, Grid
from hips.domains._geometry import DIRECTIONS
from hips.domains.base import Domain
from hips.errors import LevelError

NEXT_TO = {
    "up": "(above ?to ?from)",
    "right": "(beside ?from ?to)",
    "down": "(above ?from ?to)",
    "left": "(beside ?to ?from)",
}
"""Precondition of a move from `?from` to `?to`, by direction."""
_NUMBER = re.compile(r"[\d.]+\s*:\s*")


def cell_name(row: int, column: int) -> str:
    """The PDDL object of a cell."""
    return f"c{row}-{column}"


def neighbours(height: int, width: int) -> str:
    """Facts `(above a b)` and `(beside a b)` (a left of b) of a grid, one per line."""
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


def domain_text(name: str, types: str, predicates: str, actions: str) -> str:
    """PDDL text of a grid domain whose actions come in four directions.

    Args:
        name: name of the PDDL domain.
        types: its types, including `cell`.
        predicates: all except `above` and `beside`.
        actions: template of the actions; `{name}` is a direction and `{next_to}` the
            precondition that `?to` lies in it.
    """
    moves = "".join(actions.format(name=move, next_to=test) for move, test in NEXT_TO.items())
    return (
        f"(define (domain {name})\n"
        "  (:requirements :strips :typing)\n"
        f"  (:types {types})\n"
        f"  (:predicates {predicates}\n"
        "    (above ?upper ?lower - cell) (beside ?left ?right - cell))\n"
        f"{moves})\n"
    )


def export(domain: Domain, states: Sequence[Grid]) -> str:
    """The PDDL domain followed by one problem per state, as the text of one file."""
    tasks = [task for state in states if (task := domain.pddl(state)) is not None]
    return "\n".join([*(rules for rules, _ in tasks[:1]), *(problem for _, problem in tasks)])


def read_steps(lines: Iterable[str], step: re.Pattern[str], allowed: str) -> Actions:
    """Actions of a plan file with one step per line.

    Skips blank lines and comments (`;`); steps may be numbered and in upper or lower case.

    Args:
        lines: the lines of the file.
        step: matches a whole step in lower case; its first group is the direction.
        allowed: the valid steps, for the error message.
    """
    names = list(DIRECTIONS)
    actions: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.split(";")[0].strip().lower()
        if not text:
            continue
        match = step.fullmatch(_NUMBER.sub("", text, count=1) if text[0].isdigit() else text)
        if match is None or match.group(1) not in names:
            raise LevelError(f"not a step of this domain; steps are {allowed}", number, 1)
        actions.append(names.index(match.group(1)))
    return np.array(actions, dtype=np.int64)


def read_moves(lines: Iterable[str], verbs: Sequence[str] = ("move",)) -> Actions:
    """Actions of a plan with steps such as `move-up` and `move-right`."""
    step = re.compile(rf"\(?\s*(?:{'|'.join(verbs)})-(\w+)(?:\s[\w\s\-]*)?\)?")
    allowed = ", ".join(f"{verb}-{name}" for verb in verbs for name in DIRECTIONS)
    return read_steps(lines, step, allowed)
