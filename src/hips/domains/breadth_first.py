"""Breadth-first search over the states of a domain, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hips.arrays import Actions, Grid, Grids

if TYPE_CHECKING:
    from hips.domains.base import Domain


class BreadthFirst:
    """Distinct states in order of their distance from a start.

    Attributes:
        layer: `[M, H, W]`, the states at the current distance.
        depth: that distance.
    """

    def __init__(self, domain: Domain, start: Grid) -> None:
        self.domain = domain
        self.layer: Grids = start[None]
        self.depth = 0
        self._parents: dict[bytes, tuple[bytes, int]] = {start.tobytes(): (b"", -1)}

    @property
    def num_states(self) -> int:
        """Number of states found so far."""
        return len(self._parents)

    def advance(self) -> None:
        """Moves on to the next layer; an empty layer means there are no more states."""
        num_actions = self.domain.spec.num_actions
        repeated = np.repeat(self.layer, num_actions, axis=0)
        reached = self.domain.step(repeated, np.tile(np.arange(num_actions), len(self.layer)))
        new = []
        for i, state in enumerate(reached):
            if (key := state.tobytes()) not in self._parents:
                self._parents[key] = (repeated[i].tobytes(), i % num_actions)
                new.append(i)
        self.layer = reached[new]
        self.depth += 1

    def way_to(self, state: Grid) -> Actions:
        """The actions from the start to a state already found."""
        actions: list[int] = []
        key, action = self._parents[state.tobytes()]
        while action >= 0:
            actions.append(action)
            key, action = self._parents[key]
        return np.array(actions[::-1], dtype=np.int64)
