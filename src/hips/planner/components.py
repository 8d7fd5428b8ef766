"""What a search is made of, apart from the search itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hips.domains.base import Domain
from hips.errors import ConfigError, ModelError
from hips.models.runtime import Precision
from hips.planner.evaluations import Evaluation, KeyFunction
from hips.planner.expander import Hybrid
from hips.planner.policies import UniformPolicy, WeightedHeuristic
from hips.planner.protocols import (
    ActionPolicy,
    Dynamics,
    DynamicsMode,
    Heuristic,
    ReachPolicy,
    SubgoalGenerator,
)

SEARCHES = ("hips-eps", "hips", "low-level")
"""Which children a node has: subgoals and actions, only subgoals, only actions."""


@dataclass(frozen=True, slots=True)
class Components:
    """Policies, generator, heuristic and model; None where there is none.

    Attributes:
        generator: proposes subgoals.
        reach: acts towards proposed states; not needed if the generator gives actions.
        low_level: π_BC; None means uniform.
        heuristic: h; None means 0.
        model: learned dynamics.
        horizon: most low-level steps to a subgoal; None takes the domain's preset.
    """

    generator: SubgoalGenerator | None = None
    reach: ReachPolicy | None = None
    low_level: ActionPolicy | None = None
    heuristic: Heuristic | None = None
    model: Dynamics | None = None
    horizon: int | None = None


@dataclass(frozen=True, slots=True)
class Tuning:
    """The numbers of a search that every domain has its own of; see `SearchSettings`."""

    epsilon: float
    mass: float
    weight: float
    temperature: float
    confidence: float
    hope: float
    horizon: int | None


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search; None takes what suits the domain and the components.

    Attributes:
        search: one of `SEARCHES`; by default `hips-eps` if there is a generator.
        evaluation: in which order nodes are expanded.
        epsilon: ε of eq:pi, 0 for the limit ε → 0.
        dynamics: who simulates what.
        confidence: least probability of a foreseen action that is executed without asking again;
            None what suits the domain.
        hope: least probability of getting to a subgoal with which its rollout goes on; 0 never
            gives up, None what suits the domain.
        horizon: most low-level steps to a subgoal; None what suits the domain and the model.
        close_on_generation: never update a generated state.
        precision: `int8` runs the model's quantised networks where it has them; None does so
            unless torch runs them.
        mass: only the likeliest codes with this share of π_SG are decoded; 1 decodes all, None
            what suits the domain.
        weight: of the heuristic, as in weighted A*: above 1 the search is greedier and plans get
            longer; None what suits the domain.
        temperature: what log π_SG is divided by: above 1 the prior is trusted less and the
            heuristic decides more; None what suits the domain.
        device: None runs the networks without torch; `cpu`, `cuda` … or `auto` runs torch there.
        threads: cores that share the rows of a network; None takes all, in a worker process one.
    """

    search: str | None = None
    evaluation: str | Evaluation | KeyFunction | None = None
    epsilon: float | None = None
    dynamics: DynamicsMode = DynamicsMode.TRUE
    confidence: float | None = None
    hope: float | None = None
    horizon: int | None = None
    close_on_generation: bool = False
    precision: Precision | None = None
    mass: float | None = None
    weight: float | None = None
    temperature: float | None = None
    device: str | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.search is not None and self.search not in SEARCHES:
            raise ConfigError(f"Unknown search '{self.search}'. Available: {', '.join(SEARCHES)}.")
        if self.mass is not None and not 0.0 < self.mass <= 1.0:
            raise ConfigError(f"A mass of {self.mass} is not in (0, 1]; 1 decodes every code.")
        if self.weight is not None and not 0.0 < self.weight < math.inf:
            raise ConfigError(f"A weight of {self.weight} is impossible; give a number above 0.")
        if self.temperature is not None and not 0.0 < self.temperature < math.inf:
            raise ConfigError(
                f"A temperature of {self.temperature} is impossible; give a number above 0."
            )

    def tuning(self, domain: Domain) -> Tuning:
        """The numbers asked for, and what suits the domain in place of those that were not."""
        preset = domain.preset
        return Tuning(
            preset.epsilon if self.epsilon is None else self.epsilon,
            preset.mass if self.mass is None else self.mass,
            preset.weight if self.weight is None else self.weight,
            preset.temperature if self.temperature is None else self.temperature,
            preset.confidence if self.confidence is None else self.confidence,
            preset.hope if self.hope is None else self.hope,
            preset.reach if self.horizon is None else self.horizon,
        )

    def make_expander(self, domain: Domain, components: Components) -> Hybrid:
        """The expander that these settings and components make for `domain`."""
        search = self.search or ("low-level" if components.generator is None else "hips-eps")
        if search != "low-level" and components.generator is None:
            raise ModelError(
                f"Search '{search}' needs subgoals, and there is no trained model for "
                f"'{domain.name}'. Train one with `hips train`, or search with low-level actions."
            )
        uniform = UniformPolicy(domain.spec.num_actions)
        tuning = self.tuning(domain)
        return Hybrid(
            domain,
            None if search == "low-level" else components.generator,
            None if search == "hips" else components.low_level or uniform,
            tuning.epsilon,
            components.reach,
            _weighted(components.heuristic, tuning.weight),
            self.dynamics,
            components.model,
            components.horizon if tuning.horizon is None else tuning.horizon,
            tuning.confidence,
            tuning.hope,
        )

    def choose_evaluation(self, domain: Domain, expander: Hybrid) -> str | Evaluation | KeyFunction:
        """The evaluation asked for, or the one that suits: PHS* or LevinTS for low-level search."""
        if self.evaluation is not None:
            return self.evaluation
        if expander.heuristic is None:
            return "levin_ts"
        return "phs_star" if expander.generator is None else domain.preset.evaluation


def _weighted(heuristic: Heuristic | None, weight: float) -> Heuristic | None:
    if heuristic is None or weight == 1.0:
        return heuristic
    return WeightedHeuristic(heuristic, weight)
