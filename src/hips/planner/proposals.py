"""Sorting, screening and merging of proposed subgoals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hips.arrays import Floats, Grids, Ints
from hips.domains.base import Domain
from hips.planner.children import Fate, Rejected
from hips.planner.packing import differ, merge_equal, pack
from hips.planner.protocols import Proposals, checked_log_probabilities


@dataclass(frozen=True, slots=True)
class Screened:
    """Proposals that are worth a rollout, and the fates of all.

    Attributes:
        usable: the proposals that passed.
        rows: `[M]`, their indices among all proposals.
        fates: `[P]`, values of `Fate` of all proposals; `KEPT` for those that passed.
    """

    usable: Proposals
    rows: Ints
    fates: npt.NDArray[np.uint8]


def sort_by_parent(proposals: Proposals) -> Proposals:
    """The same proposals, stably sorted by parent."""
    order = np.argsort(proposals.parents, kind="stable")
    log_probabilities = checked_log_probabilities(
        proposals.log_probabilities, (len(order),), "a generator's log_probabilities"
    )
    return Proposals(
        proposals.parents[order],
        proposals.codes[order],
        log_probabilities[order],
        None if proposals.targets is None else proposals.targets[order],
        None if proposals.actions is None else proposals.actions[order],
    )


def screen(
    domain: Domain,
    states: Grids,
    proposals: Proposals,
    check_legality: bool = True,
    sum_equal: bool = True,
) -> Screened:
    """Drops illegal targets, the states themselves and duplicates, before any rollout."""
    fates = np.zeros(len(proposals.parents), dtype=np.uint8)
    if proposals.targets is None:
        return Screened(proposals, np.arange(len(fates)), fates)
    targets, parents = proposals.targets, proposals.parents
    fates[:] = Fate.REPEATED
    rows = np.flatnonzero(differ(pack(targets), pack(states[parents])))
    if len(rows) and check_legality:
        legal = domain.is_legal(targets[rows], states[parents[rows]])
        fates[rows[~legal]] = Fate.ILLEGAL
        rows = rows[legal]
    no_lengths = np.zeros(len(targets), dtype=np.int64)
    rows, log_probabilities = merge(
        rows, parents, targets, no_lengths, proposals.log_probabilities, sum_equal
    )
    fates[rows] = Fate.KEPT
    usable = Proposals(parents[rows], proposals.codes[rows], log_probabilities, targets[rows])
    return Screened(usable, rows, fates)


def merge(
    rows: Ints,
    parents: Ints,
    states: Grids,
    lengths: Ints,
    log_probabilities: Floats,
    sum_equal: bool = True,
) -> tuple[Ints, Floats]:
    """Merges `rows` of equal parent and state into the shortest (then first).

    Returns the kept rows, in order, and the sum (or largest) of their probabilities, as logarithms.
    """
    kept, merged = merge_equal(
        parents[rows], pack(states[rows]), lengths[rows], log_probabilities[rows], sum_equal
    )
    return rows[kept], merged


def normalise(log_probabilities: Floats, parents: Ints, count: int) -> Floats:
    """Makes each parent's probabilities sum to 1; where all are 0, they stay 0."""
    best = np.full(count, -np.inf)
    np.maximum.at(best, parents, log_probabilities)
    best[np.isneginf(best)] = 0.0
    shifted = log_probabilities - best[parents]
    totals = np.bincount(parents, weights=np.exp(shifted), minlength=count)
    totals[totals == 0] = 1.0
    normalised: Floats = shifted - np.log(totals[parents])
    return normalised


def count_fates(parents: Ints, fates: npt.NDArray[np.uint8], count: int) -> Ints:
    """Proposals of each parent by `Fate`, `[B, F]`."""
    places = parents * len(Fate) + fates
    counts: Ints = np.bincount(places, minlength=count * len(Fate)).reshape(count, len(Fate))
    return counts


def rejections(proposals: Proposals, fates: npt.NDArray[np.uint8], ends: Grids) -> Rejected:
    """Proposals that did not become children; `ends` `[P, H, W]` replaces missing targets."""
    rows = np.flatnonzero((fates != Fate.KEPT) & (fates != Fate.PENDING))
    shown = ends if proposals.targets is None else proposals.targets
    parents = proposals.parents
    shares = normalise(proposals.log_probabilities, parents, int(parents.max(initial=-1)) + 1)
    return Rejected(
        parents[rows],
        proposals.codes[rows],
        shares[rows],
        fates[rows],
        shown[rows],
    )
