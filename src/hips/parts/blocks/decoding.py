"""Decoding of a generator of single-cell edits: level by level, most probable first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hips.arrays import Floats, Grids, Ints
from hips.errors import ConfigError, ModelError
from hips.planner.packing import merge_equal, pack
from hips.planner.protocols import Proposals

EditFunction: TypeAlias = Callable[[Grids, Grids], Floats]
"""States and partial subgoals `[M, H, W]` to log-probabilities `[M, H · W · S + 1]`."""


@dataclass(frozen=True, slots=True)
class EditDecoder:
    """Finds the most probable subgoals of a generator of edits.

    Each partial subgoal is continued with its likeliest edits, STOP among them, until `coverage`
    of its probability is covered. Equal partial subgoals add their probabilities.

    Attributes:
        edits: the generator.
        num_symbols: of the domain.
        candidates: C, number of subgoals per state.
        coverage: probability covered at each step.
        beam: maximum number of partial subgoals per state.
        max_edits: maximum number of edits.
    """

    edits: EditFunction
    num_symbols: int
    candidates: int = 4
    coverage: float = 0.9
    beam: int = 256
    max_edits: int = 24

    def __post_init__(self) -> None:
        if min(self.candidates, self.beam, self.max_edits) < 1:
            raise ConfigError("candidates, beam and max_edits must be at least 1.")

    def propose(self, states: Grids) -> Proposals:
        """At most C subgoals of `states [B, H, W]`, likeliest first, other than the state."""
        count = len(states)
        owners, partials, chances = np.arange(count), states.copy(), np.zeros(count)
        ended: list[tuple[Ints, Grids, Floats]] = [(owners[:0], states[:0], chances[:0])]
        rows = np.zeros(count, dtype=np.int64)
        for edit in range(self.max_edits + 1):
            if not len(owners):
                break
            found = self.edits(states[owners], partials).astype(np.float64)
            if found.shape != (len(owners), partials[0].size * self.num_symbols + 1):
                raise ModelError(
                    f"The generator returned edits of shape {list(found.shape)}, not one per cell "
                    "and symbol and one for the end: it is not the model that its card says."
                )
            if np.isnan(found).any():
                raise ModelError(
                    "The generator returned NaN: the model is damaged; train it again."
                )
            np.add.at(rows, owners, 1)
            if edit:
                ended.append((owners, partials, chances + found[:, -1]))
            else:
                found[:, -1] = -np.inf  # a subgoal differs from the state
            if edit == self.max_edits:
                break
            owners, partials, chances = self._continue(owners, partials, chances, found)
            least = self._least(ended, count)
            kept = np.flatnonzero(chances > least[owners])
            owners, partials, chances = owners[kept], partials[kept], chances[kept]
        all_owners, targets, totals = (np.concatenate(x) for x in zip(*ended, strict=True))
        kept, totals = _merged(all_owners, targets, totals)
        all_owners, targets = all_owners[kept], targets[kept]
        best = _top(all_owners, totals, self.candidates)
        ranks = np.arange(len(best)) - np.searchsorted(all_owners[best], all_owners[best])
        return Proposals(all_owners[best], ranks, totals[best], targets[best], calls=rows)

    def _continue(
        self, owners: Ints, partials: Grids, chances: Floats, found: Floats
    ) -> tuple[Ints, Grids, Floats]:
        """The partial subgoals after one more edit."""
        width = min(found.shape[1], self.beam + 1)
        order = np.argsort(-found, axis=1, kind="stable")[:, :width]
        ordered = np.take_along_axis(found, order, axis=1)
        before = np.cumsum(np.exp(ordered), axis=1) - np.exp(ordered)
        stop = found.shape[1] - 1
        wanted = self.coverage * np.exp(found).sum(axis=1, keepdims=True)
        rows, columns = np.nonzero((before < wanted) & (order != stop))
        chosen = order[rows, columns]
        cells, symbols = np.divmod(chosen, self.num_symbols)
        following = pack(partials)[rows].copy()
        following[np.arange(len(rows)), cells] = symbols
        grids = following.reshape(-1, *partials.shape[1:])
        totals = chances[rows] + ordered[rows, columns]
        kept, totals = _merged(owners[rows], grids, totals)
        new_owners, grids = owners[rows][kept], grids[kept]
        best = _top(new_owners, totals, self.beam)
        return new_owners[best], grids[best], totals[best]

    def _least(self, ended: list[tuple[Ints, Grids, Floats]], count: int) -> Floats:
        """The C-th best log-probability of finished subgoals per state; -∞ if there are fewer."""
        owners = np.concatenate([one[0] for one in ended])
        chances = np.concatenate([one[2] for one in ended])
        best = _top(owners, chances, self.candidates)
        numbers = np.bincount(owners[best], minlength=count)
        least = np.full(count, np.inf)
        np.minimum.at(least, owners[best], chances[best])
        return np.where(numbers >= self.candidates, least, -np.inf)


def _merged(owners: Ints, grids: Grids, chances: Floats) -> tuple[Ints, Floats]:
    lengths = np.zeros(len(owners), dtype=np.int64)
    return merge_equal(owners, pack(grids), lengths, chances, True)


def _top(owners: Ints, chances: Floats, most: int) -> Ints:
    """The `most` likeliest rows of each owner, by owner and likeliest first."""
    order = np.lexsort((-chances, owners))
    ranks = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
    return order[ranks < most]
