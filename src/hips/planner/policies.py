"""Policies and heuristics that know nothing or everything: no network in either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hips.domains.base import Domain, Grid, Grids
from hips.planner.protocols import Floats, Foresight, Heuristic, gain_of


@dataclass(frozen=True, slots=True)
class UniformPolicy:
    """Every action is as likely as any other."""

    num_actions: int
    calls: ClassVar[int] = 0

    def log_probabilities(self, states: Grids) -> Floats:
        """Zeros `[B, A]`; the expander normalises over applicable actions."""
        return np.zeros((len(states), self.num_actions))


@dataclass(frozen=True, slots=True)
class StateHeuristic:
    """A heuristic from a function of one grid, e.g. a Manhattan distance."""

    function: Callable[[Grid], float]
    gain: float | None = None
    calls: ClassVar[int] = 0

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
        """As the inner one."""
        return self.inner.calls

    @property
    def gain(self) -> float | None:
        """The inner one's, weighted."""
        gain = gain_of(self.inner)
        return None if gain is None else self.weight * gain

    def distances(self, states: Grids) -> Floats:
        """The inner estimates, weighted, `[B]`."""
        weighted: Floats = self.weight * self.inner.distances(states)
        return weighted


@dataclass(frozen=True, slots=True)
class NearestStepPolicy:
    """Acts towards a subgoal by looking one step ahead at how many cells still differ."""

    domain: Domain
    calls: ClassVar[int] = 0

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """By minus the number of differing cells after each action, `[B, 1, A]`."""
        count, num_actions = len(states), self.domain.spec.num_actions
        actions = np.tile(np.arange(num_actions), count)
        reached = self.domain.step(np.repeat(states, num_actions, axis=0), actions)
        differing = (reached != np.repeat(subgoals, num_actions, axis=0)).sum(axis=(1, 2))
        closeness: Floats = -differing.reshape(count, 1, num_actions).astype(np.float64)
        return Foresight(closeness)
