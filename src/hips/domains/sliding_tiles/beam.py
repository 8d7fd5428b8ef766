"""Beam search for short sliding-tile plans."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from hips.domains.sliding_tiles.estimates import LIMIT, Tables, estimate, estimate_change
from hips.domains.sliding_tiles.kernels import Cells, find_blank

Plan = npt.NDArray[np.int64]


class Layer(NamedTuple):
    """States of one depth: flat grids `[beam, N]` and their attributes `[beam]`."""

    states: Cells
    blanks: npt.NDArray[np.int64]
    estimates: npt.NDArray[np.int64]
    names: npt.NDArray[np.uint64]


class Candidates(NamedTuple):
    """Candidates for the next depth, `[3 * beam + 1]`, and a histogram of their estimates."""

    parents: npt.NDArray[np.int64]
    moves: npt.NDArray[np.int64]
    estimates: npt.NDArray[np.int64]
    names: npt.NDArray[np.uint64]
    histogram: npt.NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def beam_search(start: Cells, width: int, beam: int, max_depth: int, tables: Tables) -> Plan:
    """Actions from a flat grid to the goal, or `[-1]` if the beam runs empty or too deep.

    Each layer keeps the `beam` new states of smallest estimate. Ties are broken by order of
    creation, so the plan depends on the start alone.
    """
    seen = _new_set(3 * beam * max_depth)
    old, new = _new_layer(beam, len(start)), _new_layer(beam, len(start))
    candidates = _new_candidates(3 * beam + 1)
    parents = np.empty((max_depth + 1, beam), dtype=np.int32)
    moves = np.full((max_depth + 1, beam), -1, dtype=np.int8)
    _put_start(start, old, width, tables)
    _insert(seen, old.names[0])
    if old.estimates[0] == 0:
        return np.empty(0, dtype=np.int64)
    count = 1
    for depth in range(1, max_depth + 1):
        found = _expand(old, count, moves[depth - 1], width, candidates, seen, tables)
        if found == 0:
            break
        if candidates.estimates[found - 1] == 0:
            last = found - 1
            return _walk_back(
                parents, moves, depth, candidates.parents[last], candidates.moves[last]
            )
        _select(old, new, candidates, found, tables, parents[depth], moves[depth])
        count = min(found, beam)
        old, new = new, old
    return np.full(1, -1, dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def _new_layer(beam: int, size: int) -> Layer:
    return Layer(
        np.empty((beam, size), dtype=np.uint8),
        np.empty(beam, dtype=np.int64),
        np.empty(beam, dtype=np.int64),
        np.empty(beam, dtype=np.uint64),
    )


@numba.njit(cache=True, nogil=True)
def _new_candidates(capacity: int) -> Candidates:
    return Candidates(
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.uint64),
        np.empty(LIMIT, dtype=np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _new_set(most: int) -> npt.NDArray[np.uint32]:
    """An empty set of fingerprints with room for more than `most` keys."""
    capacity = 1
    while capacity <= most:
        capacity *= 2
    return np.zeros(capacity, dtype=np.uint32)


@numba.njit(cache=True, nogil=True)
def _insert(seen: npt.NDArray[np.uint32], name: np.uint64) -> bool:
    """Adds a name to the set; False if it is already there.

    The upper half of the word is the fingerprint, the lower half its slot. A rare collision only
    drops a candidate from the beam.
    """
    mask = np.uint64(len(seen) - 1)
    fingerprint = np.uint32((name >> np.uint64(32)) | np.uint64(1))
    slot = name & mask
    while seen[slot] != 0:
        if seen[slot] == fingerprint:
            return False
        slot = (slot + np.uint64(1)) & mask
    seen[slot] = fingerprint
    return True


@numba.njit(cache=True, nogil=True)
def _put_start(start: Cells, layer: Layer, width: int, tables: Tables) -> None:
    name = np.uint64(0)
    for cell in range(len(start)):
        name ^= tables.keys[start[cell], cell]
        layer.states[0, cell] = start[cell]
    layer.blanks[0] = find_blank(start)
    layer.estimates[0] = estimate(start, width, tables)
    layer.names[0] = name


@numba.njit(cache=True, nogil=True)
def _expand(
    layer: Layer,
    count: int,
    last_moves: npt.NDArray[np.int8],
    width: int,
    candidates: Candidates,
    seen: npt.NDArray[np.uint32],
    tables: Tables,
) -> int:
    """Fills `candidates` with the new children of a layer; stops at a goal."""
    found = 0
    candidates.histogram[:] = 0
    for parent in range(count):
        blank = layer.blanks[parent]
        for action in range(4):
            target = tables.neighbour[blank, action]
            # Opposite actions differ by 2; undoing the last move leads nowhere new.
            if target < 0 or action ^ 2 == last_moves[parent]:
                continue
            tile = layer.states[parent, target]
            name = layer.names[parent] ^ tables.keys[tile, target] ^ tables.keys[tile, blank]
            name ^= tables.keys[0, blank] ^ tables.keys[0, target]
            if not _insert(seen, name):
                continue
            value = layer.estimates[parent] + estimate_change(
                layer.states[parent], blank, target, width, tables
            )
            candidates.parents[found] = parent
            candidates.moves[found] = action
            candidates.estimates[found] = value
            candidates.names[found] = name
            candidates.histogram[value] += 1
            found += 1
            if value == 0:
                return found
    return found


@numba.njit(cache=True, nogil=True)
def _select(
    old: Layer,
    new: Layer,
    candidates: Candidates,
    found: int,
    tables: Tables,
    parents: npt.NDArray[np.int32],
    moves: npt.NDArray[np.int8],
) -> None:
    """Builds the next layer from the candidates of smallest estimate (a counting sort)."""
    place = 0
    for value in range(LIMIT):
        held = candidates.histogram[value]
        candidates.histogram[value] = place
        place += held
    for candidate in range(found):
        value = candidates.estimates[candidate]
        slot = candidates.histogram[value]
        candidates.histogram[value] += 1
        if slot >= len(new.blanks):
            continue
        parent, action = candidates.parents[candidate], candidates.moves[candidate]
        blank = old.blanks[parent]
        target = tables.neighbour[blank, action]
        for cell in range(new.states.shape[1]):
            new.states[slot, cell] = old.states[parent, cell]
        new.states[slot, blank] = old.states[parent, target]
        new.states[slot, target] = 0
        new.blanks[slot] = target
        new.estimates[slot] = value
        new.names[slot] = candidates.names[candidate]
        parents[slot] = parent
        moves[slot] = action


@numba.njit(cache=True, nogil=True)
def _walk_back(
    parents: npt.NDArray[np.int32],
    moves: npt.NDArray[np.int8],
    depth: int,
    parent: int,
    action: int,
) -> Plan:
    plan = np.empty(depth, dtype=np.int64)
    plan[depth - 1] = action
    at = parent
    for layer in range(depth - 1, 0, -1):
        plan[layer - 1] = moves[layer, at]
        at = parents[layer, at]
    return plan
