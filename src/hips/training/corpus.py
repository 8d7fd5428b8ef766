"""Demonstrations as arrays that stages draw batches from, with symmetries as augmentation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hips.demonstrations.dataset import Trajectories
from hips.domains import Actions, Domain, Grids
from hips.errors import DatasetError

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Corpus:
    """All states of a set of trajectories, one after the other.

    Attributes:
        domain: whose trajectories they are.
        states: uint8 `[M, H, W]`.
        actions: int64 `[M]`, taken in each state; -1 in a trajectory's last state.
        offsets: int64 `[N + 1]`, where each trajectory starts.
        last: int64 `[M]`, index of the last state of the same trajectory.
    """

    domain: Domain
    states: Grids
    actions: Actions
    offsets: Indices
    last: Indices

    @classmethod
    def build(cls, trajectories: Trajectories, domain: Domain, at_least: int = 1) -> Corpus:
        """A corpus from replayed trajectories; fewer than `at_least` are refused."""
        if len(trajectories) < at_least:
            raise DatasetError(
                f"{len(trajectories)} demonstrations are too few to train on; "
                f"at least {at_least} are needed. Collect more with `hips collect`."
            )
        offsets = trajectories.offsets
        last = np.repeat(offsets[1:] - 1, np.diff(offsets))
        return cls(domain, trajectories.states, trajectories.actions, offsets, last)

    @property
    def remaining(self) -> Indices:
        """Steps to the end of the trajectory, `[M]`."""
        return self.last - np.arange(len(self.last))

    @property
    def decisions(self) -> Indices:
        """Indices of all states in which an action was taken."""
        return np.flatnonzero(self.actions >= 0)

    def action_windows(self, starts: Indices, ends: Indices, length: int) -> Actions:
        """The next `length` actions `[B, length]` from `starts`; -1 from `ends` on."""
        positions = starts[:, None] + np.arange(length)
        window = self.actions[np.minimum(positions, len(self.actions) - 1)]
        return np.where(positions < ends[:, None], window, -1)

    def random_ends(self, rng: np.random.Generator, starts: Indices, horizon: int) -> Indices:
        """A later state of the same trajectory for each start, at most `horizon` steps on."""
        reach = np.minimum(self.last[starts] - starts, horizon)
        return starts + 1 + (rng.random(len(starts)) * reach).astype(np.int64)


MAX_SYMMETRIES = 8


class Augmenter:
    """Applies the domain's symmetries: some of them, each to an equal share of a batch."""

    def __init__(self, domain: Domain) -> None:
        self.symmetries = domain.symmetries()
        identity = np.arange(domain.spec.num_actions)
        tables = [identity, *(np.array(s.actions) for s in self.symmetries)]
        # One more column: the marker -1 of "no action" stays what it is.
        self.action_tables = [np.append(table, -1) for table in tables]

    def __call__(
        self, rng: np.random.Generator, grids: list[Grids], actions: Actions | None = None
    ) -> tuple[list[Grids], Actions | None]:
        """Transforms grids `[B, H, W]` and actions `[B]` or `[B, C]` together."""
        if not self.symmetries:
            return grids, actions
        size = len(grids[0])
        count = len(self.symmetries) + 1
        chosen = rng.choice(count, size=min(count, MAX_SYMMETRIES), replace=False)
        shares = np.array_split(rng.permutation(size), len(chosen))
        moved = [grid.copy() for grid in grids]
        renamed = None if actions is None else actions.copy()
        for which, share in zip(chosen, shares, strict=True):
            if which:
                transform = self.symmetries[which - 1].transform
                for source, target in zip(grids, moved, strict=True):
                    target[share] = transform(source[share])
            if renamed is not None and actions is not None:
                renamed[share] = self.action_tables[which][actions[share]]
        return moved, renamed
