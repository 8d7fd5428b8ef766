"""Evaluation functions: the order of expansion.

Each is a vectorised function of `g` (depth in nodes), `steps` (low-level steps l), `log_pi`
(log π(n)) and `h` (estimated remaining steps), all `[M]`, and returns keys `[M]`; the smallest is
expanded first. Policy-guided keys are log φ, so no product of probabilities can underflow. Where
l = 0, φ is 0 and its logarithm -∞.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hips.arrays import Floats, Ints
from hips.errors import ConfigError
from hips.registry import Registry

KeyFunction: TypeAlias = Callable[[Ints, Ints, Floats, Floats], Floats]

DEFAULT_WEIGHT = 2.0
DEFAULT_REROOTING = 2.0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A key function and what it depends on.

    Attributes:
        key: `(g, steps, log_pi, h) -> keys`, all `[M]`; must not decrease as h grows.
        uses_heuristic: whether h matters; if not, no heuristic is computed.
        uses_policy: whether log π matters; if not, ε only chooses between "equal" (ε > 0) and
            "only when the high level would fail" (ε → 0), the two strategies of app:gbfs.
        rerooting: α of the heuristic rerooter; its keys depend on all ancestors and replace
            `key` (see `hips.planner.rerooting`). None for evaluations of a node by itself.
    """

    key: KeyFunction
    uses_heuristic: bool = True
    uses_policy: bool = True
    rerooting: float | None = None


EVALUATIONS: Registry[Evaluation] = Registry("evaluation function")


def register(
    name: str, *, uses_heuristic: bool = True, uses_policy: bool = True
) -> Callable[[KeyFunction], KeyFunction]:
    """Decorator that registers a key function as `name`.

    >>> @register("breadth_first_example", uses_heuristic=False, uses_policy=False)
    ... def breadth_first_example(g, steps, log_pi, h):
    ...     return g.astype(float)
    >>> "breadth_first_example" in EVALUATIONS
    True
    """

    def add(key: KeyFunction) -> KeyFunction:
        EVALUATIONS.register(name)(Evaluation(key, uses_heuristic, uses_policy))
        return key

    return add


@register("phs_hat")
def phs_hat(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
    """φ̂_ĥ(n) = g (1 + h/l) / π^(1 + h/l) (eq:evaluation)."""
    ratio = h / np.maximum(steps, 1)
    return _zero_at_root(steps, _log(g) + np.log1p(ratio) - (1.0 + ratio) * log_pi)


@register("phs_star")
def phs_star(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
    """η̂_h(n) l / π with η̂_h = (1 + h/l) / π^(h/l): PHS* with the path loss l in low-level steps."""
    ratio = h / np.maximum(steps, 1)
    return _zero_at_root(steps, _log(steps + h) - (1.0 + ratio) * log_pi)


@register("levin_ts", uses_heuristic=False)
def levin_ts(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
    """φ_LevinTS(n) = g / π."""
    return _zero_at_root(steps, _log(g) - log_pi)


@register("depth")
def depth(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
    """φ_depth(n) = (g + h) / π."""
    return _zero_at_root(steps, _log(g + h) - log_pi)


@register("dist")
def dist(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
    """φ_dist(n) = (l + h) / π."""
    return _zero_at_root(steps, _log(steps + h) - log_pi)


@register("astar", uses_policy=False)
def astar(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
    """f(n) = l + h."""
    return steps + h


def weighted(weight: float) -> Evaluation:
    """f(n) = l + weight * h, for any weight ≥ 0."""
    if not 0.0 <= weight < np.inf:
        raise ConfigError(f"A heuristic weight of {weight} is invalid; give 0 or more.")

    def key(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
        return steps + weight * h

    return Evaluation(key, uses_policy=False)


EVALUATIONS.register("weighted_astar")(weighted(DEFAULT_WEIGHT))


@register("gbfs", uses_policy=False)
def gbfs(g: Ints, steps: Ints, log_pi: Floats, h: Floats) -> Floats:
    """f(n) = h."""
    return h


def sqrt_lts(strength: float) -> Evaluation:
    """√LTS with the heuristic rerooter, for any α = `strength` ≥ 0."""
    if not 0.0 <= strength < np.inf:
        raise ConfigError(f"A rerooting strength of {strength} is invalid; give 0 or more.")
    return Evaluation(levin_ts, rerooting=strength)


EVALUATIONS.register("sqrt_lts")(sqrt_lts(DEFAULT_REROOTING))


def configured(name: str, rerooting: float | None) -> Evaluation:
    """An evaluation by name; if it reroots, with the given strength."""
    found = EVALUATIONS.get(name)
    if found.rerooting is None or rerooting is None:
        return found
    return sqrt_lts(rerooting)


def resolve(evaluation: str | Evaluation | KeyFunction) -> Evaluation:
    """An evaluation by name, as a record, or as a plain key function."""
    if isinstance(evaluation, str):
        return EVALUATIONS.get(evaluation)
    return evaluation if isinstance(evaluation, Evaluation) else Evaluation(evaluation)


def _log(values: Ints | Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(values.astype(np.float64))


def _zero_at_root(steps: Ints, log_phi: Floats) -> Floats:
    return np.where(steps == 0, -np.inf, log_phi)
