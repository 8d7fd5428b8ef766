"""Subgoal generators that need no training. None is complete by itself: wrap them in `Hybrid`.

A generator is a class with `propose`, registered by name with `register`. It treats every state
independently, so proposals do not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hips.arrays import Grids, Ints
from hips.domains.base import Domain
from hips.errors import ConfigError, ExpertError
from hips.planner.packing import hash_states, pack
from hips.planner.protocols import NO_ACTION, Proposals, SubgoalGenerator
from hips.registry import Registry
from hips.seeding import stream

GENERATORS: Registry[Callable[[Domain], SubgoalGenerator]] = Registry("subgoal generator")
register = GENERATORS.register


@register("repeat_action")
@dataclass(frozen=True, slots=True)
class RepeatAction:
    """Proposes the states reached by repeating one action, all equally likely."""

    domain: Domain
    length: int = 3

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ConfigError(f"Cannot repeat an action {self.length} times; give 1 or more.")

    def propose(self, states: Grids) -> Proposals:
        """One action list per state and action."""
        count, num_actions = len(states), self.domain.spec.num_actions
        actions = np.tile(np.arange(num_actions), count)
        lists = np.repeat(actions[:, None], self.length, axis=1)
        parents = np.repeat(np.arange(count), num_actions)
        return Proposals(parents, actions, np.zeros(len(parents)), actions=lists)


@register("random_legal")
@dataclass(frozen=True, slots=True)
class RandomLegal:
    """Proposes the ends of random walks; the same state always gets the same walks."""

    domain: Domain
    count: int = 8
    length: int = 5
    seed: int = 0

    def propose(self, states: Grids) -> Proposals:
        """`count` walks of 2 … `length` actions per state."""
        num_actions = self.domain.spec.num_actions
        codes = hash_states(pack(states))
        lists = np.full((len(states), self.count, self.length), NO_ACTION, dtype=np.int64)
        for row, code in enumerate(codes.tolist()):
            rng = stream(self.seed, "random_legal", code)
            lists[row] = rng.integers(num_actions, size=(self.count, self.length))
            lengths = rng.integers(min(2, self.length), self.length + 1, size=self.count)
            lists[row][np.arange(self.length) >= lengths[:, None]] = NO_ACTION
        parents = np.repeat(np.arange(len(states)), self.count)
        labels = np.tile(np.arange(self.count), len(states))
        flat = lists.reshape(-1, self.length)
        return Proposals(parents, labels, np.zeros(len(parents)), actions=flat)


@register("expert")
@dataclass(frozen=True, slots=True)
class ExpertOracle:
    """Proposes the next `length` actions of the domain's expert, or nothing if it gives up."""

    domain: Domain
    length: int = 5
    seed: int = 0

    def propose(self, states: Grids) -> Proposals:
        """At most one action list per state."""
        parents, lists = [], []
        for row, state in enumerate(states):
            try:
                plan = self.domain.expert(state, stream(self.seed, "expert_oracle"))
            except ExpertError:
                continue
            parents.append(row)
            lists.append(_padded(plan[: self.length], self.length))
        rows = np.array(parents, dtype=np.int64)
        actions = np.array(lists, dtype=np.int64).reshape(len(rows), self.length)
        return Proposals(rows, np.zeros_like(rows), np.zeros(len(rows)), actions=actions)


def _padded(actions: Ints, length: int) -> Ints:
    padded = np.full(length, NO_ACTION, dtype=np.int64)
    padded[: len(actions)] = actions
    return padded
