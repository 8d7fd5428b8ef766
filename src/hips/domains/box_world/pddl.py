"""Box-World in PDDL (typed STRIPS), for classical planners."""

from __future__ import annotations

import numpy as np

from hips.arrays import Grid
from hips.domains import _pddl
from hips.domains._pddl import cell_name, neighbours
from hips.domains.box_world.kernels import (
    AGENT,
    FIRST_COLOUR,
    FLOOR,
    GEM,
    WALL,
    find_agent,
    is_lock,
    is_loose,
)
from hips.domains.box_world.levels import LETTERS

VERBS = ("move", "take", "open")
_PREDICATES = """(at ?cell - cell) (free ?cell - cell) (held ?item - item)
    (loose ?item - item ?cell - cell) (locked ?item - item ?cell - cell)
    (lock ?key - item ?cell - cell)"""
_ACTIONS = """  (:action move-{name}
    :parameters (?from ?to - cell)
    :precondition (and (at ?from) (free ?to) {next_to})
    :effect (and (at ?to) (not (at ?from))))
  (:action take-{name}
    :parameters (?from ?to - cell ?before ?item - item)
    :precondition (and (at ?from) (loose ?item ?to) (held ?before) {next_to})
    :effect (and (at ?to) (held ?item) (free ?to)
      (not (at ?from)) (not (held ?before)) (not (loose ?item ?to))))
  (:action open-{name}
    :parameters (?from ?to ?inside - cell ?key ?item - item)
    :precondition (and (at ?from) (lock ?key ?to) (held ?key) (locked ?item ?inside)
      (beside ?inside ?to) {next_to})
    :effect (and (at ?to) (held ?item) (free ?to) (free ?inside)
      (not (at ?from)) (not (held ?key)) (not (lock ?key ?to)) (not (locked ?item ?inside))))
"""


def domain_text() -> str:
    """The domain: `move-…` over floor, `take-…` for loose items, `open-…` for boxes."""
    return _pddl.domain_text("box-world", "cell item", _PREDICATES, _ACTIONS)


def problem_text(state: Grid, name: str = "level") -> str:
    """The problem of holding the gem."""
    height, width = state.shape
    cells = [cell_name(row, column) for row in range(height) for column in range(width)]
    used = np.unique(state[state >= FIRST_COLOUR])
    items = ["nothing", "gem", *(_item(int(symbol)) for symbol in used)]
    facts = [f"(at {cell_name(*find_agent(state))})", f"(held {_item(int(state[0, 0]))})"]
    for row, column in np.argwhere(state[1:-1, 1:-1] != WALL) + 1:
        facts.append(_describe(state, int(row), int(column)))
    return (
        f"(define (problem {name})\n"
        "  (:domain box-world)\n"
        f"  (:objects {' '.join(cells)} - cell\n    {' '.join(items)} - item)\n"
        "  (:init\n    " + "\n    ".join(facts) + f"\n    {neighbours(height, width)})\n"
        "  (:goal (and (held gem))))\n"
    )


def _describe(state: Grid, row: int, column: int) -> str:
    """The fact about one open cell of the room."""
    symbol, cell = int(state[row, column]), cell_name(row, column)
    if symbol in (FLOOR, AGENT):
        return f"(free {cell})"
    if is_lock(state, row, column):
        return f"(lock {_item(symbol)} {cell})"
    kind = "loose" if is_loose(state, row, column) else "locked"
    return f"({kind} {_item(symbol)} {cell})"


def _item(symbol: int) -> str:
    """The PDDL object of a held, loose or locked item."""
    if symbol < FIRST_COLOUR:
        return "gem" if symbol == GEM else "nothing"
    return f"key-{LETTERS[symbol - FIRST_COLOUR]}"
