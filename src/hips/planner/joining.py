"""Children of several groups of nodes as those of one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hips.arrays import Bools, Ints
from hips.planner.children import COSTS, Children, Costs, Rejected


def join(found: Sequence[tuple[Ints, Children]], count: int) -> Children:
    """Children of several groups of rows as those of `count` rows: subgoals first, then actions."""
    if len(found) == 1 and len(found[0][0]) == count:
        return found[0][1]
    pieces = [_split(children) for _, children in found]
    order: list[tuple[int, Ints]] = [
        (group, rows)
        for half in (0, 1)
        for group, piece in enumerate(pieces)
        for rows in [piece[half]]
    ]
    owners = [own for own, _ in found]
    all_children = [children for _, children in found]

    def joined(name: str) -> Any:
        return np.concatenate([getattr(all_children[group], name)[rows] for group, rows in order])

    width = max(children.actions.shape[1] for children in all_children)
    actions = [
        np.pad(children.actions, ((0, 0), (0, width - children.actions.shape[1])))
        for children in all_children
    ]
    counts = np.zeros((count, len(COSTS)), dtype=np.int64)
    phases: dict[str, float] = {}
    for own, children in found:
        counts[own] = children.costs.counts
        for phase, seconds in children.costs.phases.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
    return Children(
        np.concatenate([owners[group][all_children[group].parents[rows]] for group, rows in order]),
        joined("states"),
        joined("log_probabilities"),
        joined("lengths"),
        joined("kinds"),
        joined("tiers"),
        joined("exact"),
        np.concatenate(actions),
        Costs(counts, phases),
        _rejected(found),
        _pending(all_children, order),
    )


def _split(children: Children) -> tuple[Ints, Ints]:
    """Rows of subgoals and of actions."""
    return np.flatnonzero(children.kinds >= 0), np.flatnonzero(children.kinds < 0)


def _pending(found: Sequence[Children], order: Sequence[tuple[int, Ints]]) -> Bools | None:
    """Which children, in `order`, wait for their rollouts; None if none does."""
    if all(children.pending is None for children in found):
        return None
    pieces: list[Bools] = []
    for group, rows in order:
        own = found[group].pending
        pieces.append(np.zeros(len(rows), dtype=np.bool_) if own is None else own[rows])
    return np.concatenate(pieces)


def _rejected(found: Sequence[tuple[Ints, Children]]) -> Rejected | None:
    moved = [
        replace(children.rejected, parents=own[children.rejected.parents])
        for own, children in found
        if children.rejected is not None
    ]
    if not moved:
        return None
    names = ("parents", "codes", "log_probabilities", "fates", "states")
    return Rejected(*(np.concatenate([getattr(one, name) for one in moved]) for name in names))
