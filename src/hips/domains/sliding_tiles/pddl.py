"""Sliding tiles in PDDL (typed STRIPS), for classical planners."""

from __future__ import annotations

from hips.arrays import Grid
from hips.domains import _pddl
from hips.domains._pddl import cell_name, neighbours

_ACTION = """  (:action move-{name}
    :parameters (?tile - tile ?from ?to - cell)
    :precondition (and (blank ?from) (at ?tile ?to) {next_to})
    :effect (and (blank ?to) (at ?tile ?from) (not (blank ?from)) (not (at ?tile ?to))))
"""


def domain_text() -> str:
    """The domain: `move-…` moves the blank in that direction, from `?from` to `?to`."""
    predicates = "(at ?tile - tile ?cell - cell) (blank ?cell - cell)"
    return _pddl.domain_text("sliding-tiles", "tile cell", predicates, _ACTION)


def problem_text(state: Grid, blank_last: bool = False) -> str:
    """The problem of solving `state`."""
    height, width = state.shape
    cells = [cell_name(row, column) for row in range(height) for column in range(width)]
    where = {int(symbol): cell for symbol, cell in zip(state.ravel(), cells, strict=True)}
    tiles = range(1, len(cells))
    homes = [f"(at t{tile} {cells[tile - blank_last]})" for tile in tiles]
    return (
        f"(define (problem puzzle)\n"
        "  (:domain sliding-tiles)\n"
        f"  (:objects {' '.join(f't{tile}' for tile in tiles)} - tile {' '.join(cells)} - cell)\n"
        f"  (:init (blank {where[0]})\n"
        f"    {' '.join(f'(at t{tile} {where[tile]})' for tile in tiles)}\n"
        f"    {neighbours(height, width)})\n"
        f"  (:goal (and {' '.join(homes)})))\n"
    )
