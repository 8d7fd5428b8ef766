"""Policies and heuristics that need no network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grid, Grids
from hips.domains.base import Domain
from hips.planner.protocols import ActionPolicy, Foresight, Heuristic, calls_of, max_decrease_of


@dataclass(frozen=True, slots=True)
class UniformPolicy:
    """All actions are equally likely."""

    num_actions: int

    def log_probabilities(self, states: Grids) -> Floats:
        """Zeros `[B, A]`; the expander normalises over applicable actions."""
        return np.zeros((len(states), self.num_actions))


@dataclass(frozen=True, slots=True)
class StateHeuristic:
    """A heuristic from a function of one grid, e.g. the Manhattan distance."""

    function: Callable[[Grid], float]
    max_decrease: float | None = None

    def distances(self, states: Grids) -> Floats:
        """The function's values `[B]`."""
        return np.array([self.function(state) for state in states], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class WeightedHeuristic:
    """A heuristic times a weight, as in weighted A*."""

    inner: Heuristic
    weight: float

    @property
    def calls(self) -> int:
        """Network rows of the inner heuristic."""
        return calls_of(self.inner)

    @property
    def max_decrease(self) -> float | None:
        """The inner heuristic's, weighted."""
        decrease = max_decrease_of(self.inner)
        return None if decrease is None else self.weight * decrease

    def distances(self, states: Grids) -> Floats:
        """The inner estimates, weighted, `[B]`."""
        weighted: Floats = self.weight * self.inner.distances(states)
        return weighted


def weighted(heuristic: Heuristic | None, weight: float) -> Heuristic | None:
    """The heuristic times `weight`; unchanged if that is 1."""
    if heuristic is None or weight == 1.0:
        return heuristic
    return WeightedHeuristic(heuristic, weight)


def unweighted(heuristic: Heuristic | None) -> Heuristic | None:
    """The heuristic without the weight of a search: its estimates are steps again."""
    return heuristic.inner if isinstance(heuristic, WeightedHeuristic) else heuristic


@dataclass(frozen=True, slots=True)
class TemperedPolicy:
    """A policy whose logits are divided by a temperature."""

    inner: ActionPolicy
    temperature: float

    @property
    def calls(self) -> int:
        """Network rows of the inner policy."""
        return calls_of(self.inner)

    def log_probabilities(self, states: Grids) -> Floats:
        """The inner logits divided by the temperature, `[B, A]`, not normalised."""
        tempered: Floats = self.inner.log_probabilities(states) / self.temperature
        return tempered


def tempered(policy: ActionPolicy, temperature: float) -> ActionPolicy:
    """The policy at a temperature; unchanged if that is 1."""
    return policy if temperature == 1.0 else TemperedPolicy(policy, temperature)


@dataclass(frozen=True, slots=True)
class NearestStepPolicy:
    """Acts towards a subgoal by one-step lookahead on the number of differing cells."""

    domain: Domain

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """Minus the number of differing cells after each action, `[B, 1, A]`."""
        count, num_actions = len(states), self.domain.spec.num_actions
        actions = np.tile(np.arange(num_actions), count)
        reached = self.domain.step(np.repeat(states, num_actions, axis=0), actions)
        differing = (reached != np.repeat(subgoals, num_actions, axis=0)).sum(axis=(1, 2))
        closeness: Floats = -differing.reshape(count, 1, num_actions).astype(np.float64)
        return Foresight(closeness)
