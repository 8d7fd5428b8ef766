"""Sokoban in PDDL (typed STRIPS), for classical planners."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from hips.arrays import Actions, Grid
from hips.domains._pddl import cell_name, read_steps
from hips.domains.sokoban.kernels import (
    ACTIONS,
    BOX,
    BOX_ON_GOAL,
    COLUMN_STEP,
    GOAL,
    PLAYER,
    PLAYER_ON_GOAL,
    ROW_STEP,
    WALL,
)

_STEP = re.compile(r"\(?\s*(?:move|push)\s[\w\s\-]*\b(\w+)\s*\)?")
DOMAIN = """\
(define (domain sokoban)
  (:requirements :strips :typing)
  (:types cell direction)
  (:predicates
    (beside ?from ?to - cell ?towards - direction)
    (player-at ?where - cell)
    (box-at ?where - cell)
    (clear ?where - cell))
  (:action move
    :parameters (?from ?to - cell ?towards - direction)
    :precondition (and (player-at ?from) (clear ?to) (beside ?from ?to ?towards))
    :effect (and (player-at ?to) (clear ?from) (not (player-at ?from)) (not (clear ?to))))
  (:action push
    :parameters (?from ?box ?to - cell ?towards - direction)
    :precondition (and (player-at ?from) (box-at ?box) (clear ?to)
      (beside ?from ?box ?towards) (beside ?box ?to ?towards))
    :effect (and (player-at ?box) (box-at ?to) (clear ?from)
      (not (player-at ?from)) (not (box-at ?box)) (not (clear ?to)))))
"""


def problem(state: Grid) -> str:
    """The PDDL problem of one state; cells are named by 0-based row and column."""
    open_cells = [(int(r), int(c)) for r, c in np.argwhere(state != WALL)]
    facts = [*_neighbours(state, open_cells)]
    goals = []
    for r, c in open_cells:
        symbol = state[r, c]
        if symbol in (PLAYER, PLAYER_ON_GOAL):
            facts.append(f"(player-at {cell_name(r, c)})")
        elif symbol in (BOX, BOX_ON_GOAL):
            facts.append(f"(box-at {cell_name(r, c)})")
        else:
            facts.append(f"(clear {cell_name(r, c)})")
        if symbol in (GOAL, BOX_ON_GOAL, PLAYER_ON_GOAL):
            goals.append(f"(box-at {cell_name(r, c)})")
    cells = " ".join(cell_name(r, c) for r, c in open_cells)
    return (
        "(define (problem level)\n  (:domain sokoban)\n"
        f"  (:objects {cells} - cell\n    {' '.join(ACTIONS)} - direction)\n"
        "  (:init\n    " + "\n    ".join(facts) + ")\n"
        "  (:goal (and " + " ".join(goals) + ")))\n"
    )


def _neighbours(state: Grid, open_cells: list[tuple[int, int]]) -> Iterator[str]:
    inside = set(open_cells)
    for r, c in open_cells:
        for name, row_step, column_step in zip(ACTIONS, ROW_STEP, COLUMN_STEP, strict=True):
            to = (r + row_step, c + column_step)
            if to in inside:
                yield f"(beside {cell_name(r, c)} {cell_name(*to)} {name})"


def read_plan(lines: Iterable[str]) -> Actions:
    """The actions of a plan with one `(move …)` or `(push …)` per line."""
    return read_steps(lines, _STEP, "(move …) and (push …), direction last")
