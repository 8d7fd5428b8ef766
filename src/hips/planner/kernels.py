"""Compiled bookkeeping: a hash of states and pairing heaps over one array of node records.

Nodes of all searches of a lockstep live in the same array; `slot` says whose they are. A pairing
heap needs only links between nodes, so every search has its own queue without storage of its own,
and a better key for an open node is a cut and a merge, never a stale entry.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.planner.rows import Bytes, Floats, Ints, hash_row, same_row

Ints32: TypeAlias = npt.NDArray[np.int32]
Nodes: TypeAlias = npt.NDArray[Any]

FRESH, OPEN, CLOSED, GOAL, REJECTED, FREE = 0, 1, 2, 3, 4, 5
NONE = -1
TAIL, FREE_HEAD, ACTIONS_END = 0, 1, 2  # places in the `meta` array

NODE = np.dtype(
    [
        ("key", np.float64),
        ("order", np.int64),
        ("log_pi", np.float64),
        ("actions", np.int64),
        ("parent", np.int32),
        ("depth", np.int32),
        ("steps", np.int32),
        ("kind", np.int32),
        ("chain", np.int32),
        ("child", np.int32),
        ("sibling", np.int32),
        ("previous", np.int32),
        ("hash", np.int32),
        ("h", np.float32),
        ("slot", np.int32),
        ("status", np.uint8),
        ("tier", np.uint8),
        ("trusted", np.uint8),
        ("guessed", np.uint8),
    ],
    align=True,
)
"""One node: 80 bytes. `kind` is a subgoal's code, or `~action`; `guessed` says that `h` was
never computed; `chain` links a hash bucket (or the free nodes), `child`, `sibling` and `previous`
the heap."""


# -- pairing heaps -----------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _before(nodes: Nodes, a: int, b: int) -> bool:
    """Whether `a` is expanded before `b`: by tier, key and age."""
    if nodes[a].tier != nodes[b].tier:
        return bool(nodes[a].tier < nodes[b].tier)
    if nodes[a].key != nodes[b].key:
        return bool(nodes[a].key < nodes[b].key)
    return bool(nodes[a].order < nodes[b].order)


@njit(cache=True, nogil=True)
def _merge(nodes: Nodes, a: int, b: int) -> int:
    """Joins two heaps; `a` may be empty."""
    if a == NONE:
        return b
    if _before(nodes, b, a):
        a, b = b, a
    first = nodes[a].child
    nodes[b].sibling = first
    nodes[b].previous = a
    if first != NONE:
        nodes[first].previous = b
    nodes[a].child = b
    return a


@njit(cache=True, nogil=True)
def _push(nodes: Nodes, root: int, node: int) -> int:
    nodes[node].child = NONE
    nodes[node].sibling = NONE
    nodes[node].previous = NONE
    return int(_merge(nodes, root, node))


@njit(cache=True, nogil=True)
def _decrease(nodes: Nodes, root: int, node: int) -> int:
    """Restores the heap after the key of `node` became better."""
    if node == root:
        return root
    before, after = nodes[node].previous, nodes[node].sibling
    if nodes[before].child == node:
        nodes[before].child = after
    else:
        nodes[before].sibling = after
    if after != NONE:
        nodes[after].previous = before
    nodes[node].sibling = NONE
    nodes[node].previous = NONE
    return int(_merge(nodes, root, node))


@njit(cache=True, nogil=True)
def _without_root(nodes: Nodes, root: int) -> int:
    """The heap without its best node, by the two-pass merge."""
    node = nodes[root].child
    paired = NONE  # heaps of pairs, linked through `sibling`, last pair first
    while node != NONE:
        partner = nodes[node].sibling
        rest = NONE
        nodes[node].sibling = NONE
        if partner != NONE:
            rest = nodes[partner].sibling
            nodes[partner].sibling = NONE
            node = _merge(nodes, node, partner)
        nodes[node].sibling = paired
        paired = node
        node = rest
    heap = NONE
    while paired != NONE:
        rest = nodes[paired].sibling
        nodes[paired].sibling = NONE
        nodes[paired].previous = NONE
        heap = _merge(nodes, heap, paired)
        paired = rest
    return heap


# -- the table ---------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def rebuild(nodes: Nodes, heads: Ints32, tail: int) -> None:
    """Links all nodes into the empty bucket array `heads`."""
    mask = heads.shape[0] - 1
    for node in range(tail):
        if nodes[node].status != FREE:
            bucket = nodes[node].hash & mask
            nodes[node].chain = heads[bucket] - 1
            heads[bucket] = node + 1


@njit(cache=True, nogil=True)
def intern(
    nodes: Nodes,
    states: Bytes,
    heads: Ints32,
    meta: Ints,
    num_nodes: Ints,
    slots: Ints,
    trusted: npt.NDArray[np.bool_],
    rows: Bytes,
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Nodes of the states `rows`, made where they are new; and which are new, both `[M]`.

    A state known only through a model (`trusted` false) and the same state reached by true steps
    are two nodes.
    """
    ids = np.empty(rows.shape[0], dtype=np.int64)
    fresh = np.zeros(rows.shape[0], dtype=np.bool_)
    mask = heads.shape[0] - 1
    for m in range(rows.shape[0]):
        # Searches of a lockstep may hold the same states, so the slot is part of the hash.
        code = hash_row(rows[m], 2 * slots[m] + trusted[m]) & 0x7FFFFFFF
        bucket = code & mask
        node = heads[bucket] - 1
        while node != NONE:
            if (
                nodes[node].hash == code
                and nodes[node].slot == slots[m]
                and nodes[node].trusted == trusted[m]
                and same_row(states, node, rows, m)
            ):
                break
            node = nodes[node].chain
        if node == NONE:
            node = meta[FREE_HEAD]
            if node == NONE:
                node = meta[TAIL]
                meta[TAIL] += 1
            else:
                meta[FREE_HEAD] = nodes[node].chain
            states[node] = rows[m]
            nodes[node].hash = code
            nodes[node].slot = slots[m]
            nodes[node].trusted = trusted[m]
            nodes[node].status = FRESH
            nodes[node].h = 0.0
            nodes[node].guessed = False
            nodes[node].chain = heads[bucket] - 1
            heads[bucket] = node + 1
            num_nodes[slots[m]] += 1
            fresh[m] = True
        ids[m] = node
    return ids, fresh


@njit(cache=True, nogil=True)
def relax(
    nodes: Nodes,
    meta: Ints,
    action_log: Bytes,
    roots: Ints,
    orders: Ints,
    open_trusted: Ints,
    action_bytes: Ints,
    ids: Ints,
    parents: Ints,
    log_pi: Floats,
    lengths: Ints,
    kinds: Ints32,
    tiers: Bytes,
    keys: Floats,
    goals: npt.NDArray[np.bool_],
    actions: Bytes,
    keep_first: bool,
) -> None:
    """Gives each node `ids[m]` the edge `m` if it is new, or open with a worse key.

    Closed nodes stay as they are; with `keep_first` (close on generation) open ones do as well.
    The low-level actions of a subgoal (`kinds[m] >= 0`) are `actions[m, :lengths[m]]`.
    """
    for m in range(ids.shape[0]):
        node = ids[m]
        status = nodes[node].status
        if status == CLOSED or (status == OPEN and keep_first):
            continue
        known = status in (OPEN, GOAL)
        if known and not (
            tiers[m] < nodes[node].tier
            or (tiers[m] == nodes[node].tier and keys[m] < nodes[node].key)
        ):
            continue
        slot = nodes[node].slot
        parent = parents[m]
        if status != FRESH and nodes[node].kind >= 0:
            action_bytes[slot] -= nodes[node].steps - nodes[nodes[node].parent].steps
        nodes[node].parent = parent
        nodes[node].depth = nodes[parent].depth + 1
        nodes[node].steps = nodes[parent].steps + lengths[m]
        nodes[node].log_pi = log_pi[m]
        nodes[node].kind = kinds[m]
        nodes[node].tier = tiers[m]
        nodes[node].key = keys[m]
        nodes[node].order = orders[slot]
        orders[slot] += 1
        nodes[node].actions = meta[ACTIONS_END]
        if kinds[m] >= 0:
            for i in range(lengths[m]):
                action_log[meta[ACTIONS_END] + i] = actions[m, i]
            meta[ACTIONS_END] += lengths[m]
            action_bytes[slot] += lengths[m]
        if goals[m]:
            nodes[node].status = GOAL
        elif status == OPEN:
            roots[slot] = _decrease(nodes, roots[slot], node)
        else:
            nodes[node].status = OPEN
            open_trusted[slot] += nodes[node].trusted
            roots[slot] = _push(nodes, roots[slot], node)


@njit(cache=True, nogil=True)
def pop(nodes: Nodes, roots: Ints, open_trusted: Ints, slots: Ints) -> Ints:
    """Takes the best node out of each slot's queue and closes it, `[B]`; no queue may be empty."""
    taken = np.empty(slots.shape[0], dtype=np.int64)
    for b in range(slots.shape[0]):
        slot = slots[b]
        node = roots[slot]
        roots[slot] = _without_root(nodes, node)
        nodes[node].status = CLOSED
        open_trusted[slot] -= nodes[node].trusted
        taken[b] = node
    return taken


@njit(cache=True, nogil=True)
def put_back(nodes: Nodes, roots: Ints, open_trusted: Ints, ids: Ints, keys: Floats) -> None:
    """Opens nodes again that were just taken out, with other keys."""
    for m in range(ids.shape[0]):
        node = ids[m]
        slot = nodes[node].slot
        nodes[node].key = keys[m]
        nodes[node].status = OPEN
        open_trusted[slot] += nodes[node].trusted
        roots[slot] = _push(nodes, roots[slot], node)


@njit(cache=True, nogil=True)
def release(nodes: Nodes, heads: Ints32, meta: Ints, slot: int) -> None:
    """Unlinks all nodes of a finished search and puts them on the free list."""
    mask = heads.shape[0] - 1
    for node in range(meta[TAIL]):
        if nodes[node].status == FREE or nodes[node].slot != slot:
            continue
        bucket = nodes[node].hash & mask
        other = heads[bucket] - 1
        if other == node:
            heads[bucket] = nodes[node].chain + 1
        else:
            while nodes[other].chain != node:
                other = nodes[other].chain
            nodes[other].chain = nodes[node].chain
        nodes[node].status = FREE
        nodes[node].chain = meta[FREE_HEAD]
        meta[FREE_HEAD] = node


@njit(cache=True, nogil=True)
def compact(nodes: Nodes, meta: Ints, action_log: Bytes, target: Bytes) -> None:
    """Copies the action sequences of living subgoal nodes to the front of `target`."""
    end = 0
    for node in range(meta[TAIL]):
        if nodes[node].status == FREE or nodes[node].status == FRESH or nodes[node].kind < 0:
            continue
        start = nodes[node].actions
        length = nodes[node].steps - nodes[nodes[node].parent].steps
        for i in range(length):
            target[end + i] = action_log[start + i]
        nodes[node].actions = end
        end += length
    meta[ACTIONS_END] = end
