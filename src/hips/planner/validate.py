"""The independent judge of plans: it knows the domain and nothing of the search."""

from __future__ import annotations

from hips.domains.base import Actions, Domain, Grid, replay


def is_plan(domain: Domain, start: Grid, actions: Actions) -> bool:
    """Whether `actions` lead from `start` to a goal state of the true domain."""
    return bool(domain.is_goal(replay(domain, start, actions)[-1:])[0])
