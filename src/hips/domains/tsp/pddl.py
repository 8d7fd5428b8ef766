"""The travelling salesman in PDDL (typed STRIPS), for classical planners."""

from __future__ import annotations

import numpy as np

from hips.arrays import Grid
from hips.domains import _pddl
from hips.domains._pddl import cell_name, neighbours
from hips.domains.tsp.kernels import AGENT, CITY, START

_ACTION = """  (:action move-{name}
    :parameters (?from ?to - cell)
    :precondition (and (at ?from) {next_to})
    :effect (and (at ?to) (visited ?to) (not (at ?from))))
"""


def domain_text() -> str:
    """The domain: four moves, each of which visits the cell it enters."""
    predicates = "(at ?cell - cell) (visited ?cell - cell)"
    return _pddl.domain_text("tsp", "cell", predicates, _ACTION)


def problem_text(state: Grid, name: str = "map") -> str:
    """The problem of visiting the cities left in `state` and returning to the start."""
    height, width = state.shape
    cells = [cell_name(row, column) for row in range(height) for column in range(width)]
    flat = state.ravel()
    agent = cells[int(np.flatnonzero(flat >= AGENT)[0])]
    start = cells[int(np.flatnonzero(flat % AGENT == START)[0])]
    cities = " ".join(f"(visited {cells[place]})" for place in np.flatnonzero(flat == CITY))
    return (
        f"(define (problem {name})\n"
        "  (:domain tsp)\n"
        f"  (:objects {' '.join(cells)} - cell)\n"
        f"  (:init (at {agent})\n    {neighbours(height, width)})\n"
        f"  (:goal (and (at {start}) {cities})))\n"
    )
