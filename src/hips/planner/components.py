"""The components of a search and the expander built from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hips.domains.base import Domain
from hips.errors import ConfigError, ModelError
from hips.planner.evaluations import resolve
from hips.planner.expander import ExpansionRules, Hybrid
from hips.planner.policies import UniformPolicy, tempered, weighted
from hips.planner.protocols import (
    ActionPolicy,
    Dynamics,
    DynamicsMode,
    Heuristic,
    ReachPolicy,
    SubgoalGenerator,
)
from hips.planner.reaching import LateReach
from hips.planner.rollouts import RolloutLimits
from hips.planner.settings import EAGER, FORESEEN, Settings, defaults


@dataclass(frozen=True, slots=True)
class Components:
    """Generator, policies, heuristic and dynamics; each may be None.

    Attributes:
        generator: proposes subgoals.
        reach_policy: acts towards proposed states; not needed if the generator proposes actions.
        action_policy: π_BC; None means uniform.
        heuristic: h; None means 0.
        dynamics: learned dynamics.
    """

    generator: SubgoalGenerator | None = None
    reach_policy: ReachPolicy | None = None
    action_policy: ActionPolicy | None = None
    heuristic: Heuristic | None = None
    dynamics: Dynamics | None = None

    def overridden(self, **own: Any) -> Components:
        """These components with the given ones replaced; None replaces nothing."""
        return replace(self, **{name: one for name, one in own.items() if one is not None})


def make_expander(
    domain: Domain,
    components: Components,
    settings: Settings,
    *,
    subgoals: bool = True,
    actions: bool = True,
) -> Hybrid:
    """The expander for `settings`: children are subgoals, actions, or both.

    Raises:
        ModelError: the settings need a component that is missing.
    """
    chosen = settings.completed(defaults())
    evaluation = resolve(str(chosen.evaluation))
    if evaluation.uses_heuristic and components.heuristic is None:
        raise ModelError(
            f"Evaluation '{chosen.evaluation}' needs a heuristic, and there is none. "
            "Give one, use a model that has one, or choose levin_ts."
        )
    mode = DynamicsMode(chosen.dynamics)
    if mode is not DynamicsMode.TRUE and components.dynamics is None:
        raise ConfigError(f"Dynamics '{mode.value}' needs a model with learned dynamics.")
    policy = components.action_policy or UniformPolicy(domain.spec.num_actions)
    if not subgoals:
        policy = tempered(policy, float(chosen.prior_temperature or 1.0))
    limits = RolloutLimits(
        chosen.horizon or domain.preset.horizon,
        float(chosen.chunk_confidence or 1.0),
        float(chosen.min_reach_probability or 0.0),
        int(chosen.rollout_retries or 0),
        bool(chosen.pass_goals),
    )
    return Hybrid(
        domain,
        components.generator if subgoals else None,
        policy if actions else None,
        float(chosen.epsilon or 0.0),
        components.reach_policy,
        weighted(components.heuristic, float(chosen.heuristic_weight or 1.0)),
        mode,
        components.dynamics,
        limits,
        ExpansionRules(chosen.equal_subgoals == "sum", bool(chosen.legality_check)),
        _reacher(components.reach_policy, chosen, limits) if subgoals else None,
    )


def _reacher(
    policy: ReachPolicy | None, settings: Settings, limits: RolloutLimits
) -> LateReach | None:
    """Rollouts for later, if the settings want them so."""
    if policy is None or settings.rollouts == EAGER:
        return None
    return LateReach(policy, limits, settings.rollouts == FORESEEN, (limits.horizon + 1) // 2)
