"""LAMA: the classical planner of Fast Downward, on a domain's PDDL."""

from __future__ import annotations

from hips.domains.base import Domain
from hips.methods import fast_downward, register
from hips.methods.base import Method, Wiring
from hips.planner.solvers import ProgramSolver


def build(wiring: Wiring) -> ProgramSolver:
    """The first iteration of LAMA, as a separate program."""
    return ProgramSolver(fast_downward.lama)


def obstacle(domain: Domain) -> str:
    """Why it cannot run: it is not installed, or the domain writes no PDDL."""
    if not fast_downward.is_installed():
        return "Fast Downward is not installed (pip install 'hips-epsilon[baselines]')"
    return "" if "pddl" in domain.formats else f"'{domain.name}' writes no PDDL"


register(
    Method(
        "lama",
        "LAMA (Fast Downward)",
        "the classical planner LAMA-first, an external program",
        build,
        obstacle=obstacle,
    )
)
