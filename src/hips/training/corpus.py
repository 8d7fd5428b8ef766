"""Demonstrations as arrays to draw batches from, with symmetries as augmentation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hips.arrays import Actions, Grids, Ints
from hips.data.dataset import Trajectories
from hips.domains import Domain
from hips.domains.base import Symmetry
from hips.training.config import ALL, NONE


def chosen_symmetries(domain: Domain, which: str) -> tuple[Symmetry, ...]:
    """All symmetries of a domain, those that leave the actions alone, or none.

    A relabelling, say of colours, keeps a demonstrator's habits; a mirror image reverses them.
    """
    if which == NONE:
        return ()
    return tuple(one for one in domain.symmetries() if which == ALL or one.relabels)


@dataclass(frozen=True, slots=True)
class Corpus:
    """All states of a set of trajectories, concatenated.

    Attributes:
        domain: the domain of the trajectories.
        states: uint8 `[M, H, W]`.
        actions: int64 `[M]`, taken in each state; -1 in a trajectory's last state.
        offsets: int64 `[N + 1]`, where each trajectory starts.
        last: int64 `[M]`, index of the last state of the same trajectory.
        symmetries: training may replace trajectories by their images under these.
    """

    domain: Domain
    states: Grids
    actions: Actions
    offsets: Ints
    last: Ints
    symmetries: tuple[Symmetry, ...] = ()

    @classmethod
    def build(cls, trajectories: Trajectories, domain: Domain, symmetries: str = ALL) -> Corpus:
        """A corpus from replayed trajectories."""
        offsets = trajectories.offsets
        last = np.repeat(offsets[1:] - 1, np.diff(offsets))
        found = chosen_symmetries(domain, symmetries)
        return cls(domain, trajectories.states, trajectories.actions, offsets, last, found)

    @property
    def trajectories(self) -> Trajectories:
        """The same without what training adds."""
        return Trajectories(self.states, self.actions, self.offsets)

    @property
    def remaining(self) -> Ints:
        """Steps to the end of the trajectory, `[M]`."""
        return self.last - np.arange(len(self.last))

    @property
    def decisions(self) -> Ints:
        """Indices of all states in which an action was taken."""
        return np.flatnonzero(self.actions >= 0)

    def action_windows(self, starts: Ints, ends: Ints, length: int) -> Actions:
        """The next `length` actions `[B, length]` from `starts`; -1 from `ends` on."""
        return action_windows(self.actions, starts, ends, length)

    def random_ends(self, rng: np.random.Generator, starts: Ints, horizon: int) -> Ints:
        """A later state of the same trajectory for each start, at most `horizon` steps ahead."""
        reach = np.minimum(self.last[starts] - starts, horizon)
        return starts + 1 + (rng.random(len(starts)) * reach).astype(np.int64)


def action_windows(actions: Actions, starts: Ints, ends: Ints, length: int) -> Actions:
    """The next `length` actions from `starts` `[B]`: `[B, length]`, -1 from `ends` on."""
    positions = starts[:, None] + np.arange(length)
    window = actions[np.minimum(positions, len(actions) - 1)]
    return np.where(positions < ends[:, None], window, -1)


MAX_SYMMETRIES = 8


class Augmenter:
    """Applies a sample of the symmetries of a domain, each to an equal share of a batch."""

    def __init__(self, domain: Domain, symmetries: tuple[Symmetry, ...]) -> None:
        self.symmetries = symmetries
        identity = np.arange(domain.spec.num_actions)
        tables = [identity, *(np.array(s.actions) for s in self.symmetries)]
        # One extra column maps -1, "no action", to itself.
        self.action_tables = [np.append(table, -1) for table in tables]

    @classmethod
    def of(cls, corpus: Corpus) -> Augmenter:
        """The augmenter of a corpus, which leaves batches alone if the corpus has no symmetries."""
        return cls(corpus.domain, corpus.symmetries)

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


def trajectory_rows(offsets: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """The states `[M]` of the chosen trajectories, and where each of these starts among them."""
    lengths = np.diff(offsets)[chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.repeat(offsets[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
    return rows, starts


def select_trajectories(corpus: Corpus, chosen: Ints) -> Corpus:
    """The corpus of the chosen trajectories."""
    rows, offsets = trajectory_rows(corpus.offsets, chosen)
    return replace(
        corpus,
        states=corpus.states[rows],
        actions=corpus.actions[rows],
        offsets=offsets,
        last=np.repeat(offsets[1:] - 1, np.diff(offsets)),
    )


def some_trajectories(corpus: Corpus, most: int, rng: np.random.Generator) -> Corpus:
    """At most that many random trajectories of a corpus, in its order."""
    total = len(corpus.offsets) - 1
    if total <= most:
        return corpus
    return select_trajectories(corpus, np.sort(rng.choice(total, size=most, replace=False)))


MAX_WALK = 8


def wander(corpus: Corpus, rng: np.random.Generator, size: int) -> Grids:
    """States up to `MAX_WALK` random steps away from the corpus, `[size, H, W]`."""
    domain = corpus.domain
    states = corpus.states[rng.choice(len(corpus.states), size=size)]
    walks = rng.integers(MAX_WALK + 1, size=size)
    for step in range(MAX_WALK):
        going = np.flatnonzero(walks > step)
        actions = rng.integers(domain.spec.num_actions, size=len(going))
        states[going] = domain.step(states[going], actions)
    return states
