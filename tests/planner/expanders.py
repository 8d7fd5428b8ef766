"""Expanders that the tests of the search share."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hips.domains import Domain, Grid, Grids
from hips.planner.children import Children
from hips.planner.expander import Hybrid
from hips.planner.policies import NearestStepPolicy, StateHeuristic, UniformPolicy
from hips.planner.reaching import LateReach
from hips.planner.rollouts import RolloutLimits

from .worlds import ADVERSARIES, Adversary


def low_level(domain: Domain, **options: Any) -> Hybrid:
    """Actions alone, all equally likely."""
    return Hybrid(domain, action_policy=UniformPolicy(domain.spec.num_actions), **options)


def misleading(
    domain: Domain,
    adversary: str,
    epsilon: float = 1e-3,
    max_decrease: float | None = None,
    **options: Any,
) -> Hybrid:
    """A hybrid of a misleading generator, a uniform policy and a heuristic made of noise."""

    def noise(state: Grid) -> float:
        return float(int(state.ravel() @ np.arange(state.size)) % 7)

    defaults = {
        "generator": Adversary(domain, ADVERSARIES[adversary]),
        "action_policy": UniformPolicy(domain.spec.num_actions),
        "reach_policy": NearestStepPolicy(domain),
        "heuristic": StateHeuristic(noise, max_decrease),
        "epsilon": epsilon,
    }
    return Hybrid(domain, **(defaults | options))


@dataclasses.dataclass
class Recording:
    """An expander that remembers which states it was given, and whether to explain."""

    inner: Hybrid
    states: list[Grids] = dataclasses.field(default_factory=list)
    explained: list[bool] = dataclasses.field(default_factory=list)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.inner, attribute)

    def expand(self, states: Grids, explain: bool = False) -> Children:
        self.states.append(states)
        self.explained.append(explain)
        return self.inner.expand(states, explain)


def postponing(
    domain: Domain, adversary: str, epsilon: float = 1e-3, foresee: bool = False, **options: Any
) -> Hybrid:
    """The same with rollouts left for later, and lengths that are wrong until then."""
    limits = RolloutLimits(domain.preset.horizon)
    reacher = LateReach(NearestStepPolicy(domain), limits, foresee, distance=3)
    return misleading(domain, adversary, epsilon, reacher=reacher, **options)
