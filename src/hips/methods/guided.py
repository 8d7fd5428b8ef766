"""Search by what the domain knows: its estimate, its macros and its dead ends. Complete."""

from __future__ import annotations

from hips.domains.base import Domain
from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.planner.evaluations import configured
from hips.planner.expander import ExpansionRules, Hybrid
from hips.planner.macros import (
    DomainEstimate,
    MacroExpander,
    TidySolver,
    has_estimate,
    has_macros,
)
from hips.planner.policies import UniformPolicy, weighted
from hips.planner.solvers import SearchSolver
from hips.planner.staged import Staged


def obstacle(domain: Domain) -> str:
    """The domain needs an estimate."""
    return "" if has_estimate(domain) else f"'{domain.name}' has no estimate of its own"


def build(wiring: Wiring) -> TidySolver:
    """Macros first, if the domain has any, and single actions when they lead no further."""
    domain, settings, own = wiring.domain, wiring.settings, wiring.own
    heuristic = weighted(
        own.heuristic or DomainEstimate(domain), float(settings.heuristic_weight or 1.0)
    )
    actions = Hybrid(
        domain,
        action_policy=own.action_policy or UniformPolicy(domain.spec.num_actions),
        heuristic=heuristic,
        rules=ExpansionRules(prune_dead=True),
    )
    stages = (MacroExpander(domain, heuristic), actions) if has_macros(domain) else (actions,)
    return TidySolver(
        SearchSolver(
            Staged(stages),
            configured(settings.evaluation or "gbfs", settings.rerooting),
            bool(settings.close_on_generation),
            wiring.execution.batch,
            settings.width or 1,
        )
    )


register(
    Method(
        "guided",
        "the domain's own estimate",
        "the domain's own estimate, macros and dead ends, without a model",
        build,
        (),
        ("evaluation", "heuristic_weight", "close_on_generation", "width"),
        {"evaluation": "gbfs", "width": 32},
        obstacle,
        has_heuristic=True,
    )
)
