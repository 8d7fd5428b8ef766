"""HIPS-ε and the domain's own estimate in turns. Complete."""

from __future__ import annotations

from dataclasses import replace

from hips.methods import guided, hips_eps, register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import EXCHANGEABLE, JUMPS, SEARCH, SUBGOAL_PARTS
from hips.planner.portfolio import Member, Portfolio
from hips.planner.settings import Settings

LEARNED_TURN = 32
"""Expansions of HIPS-ε in its first turn; most levels like those of training need fewer."""
GUIDED_TURN = 25_000
"""Expansions of the guided search in its first turn: each costs a few hundredths of one of HIPS-ε,
and levels unlike those of training often need that many."""

GUIDED_WIDTH = 32


def build(wiring: Wiring) -> Portfolio:
    """HIPS-ε that prunes dead ends, then the guided search with settings of its own."""
    alone = replace(wiring, settings=Settings(width=GUIDED_WIDTH))
    return Portfolio(
        (
            Member(hips_eps.build(wiring, prune_dead=True), LEARNED_TURN),
            Member(guided.build(alone), GUIDED_TURN),
        )
    )


register(
    Method(
        "portfolio",
        "HIPS-ε and guided",
        "HIPS-ε and the domain's own estimate in turns",
        build,
        SUBGOAL_PARTS,
        ("epsilon", *SEARCH, *JUMPS),
        obstacle=guided.obstacle,
        exchangeable=EXCHANGEABLE,
    )
)
