"""Compiled node table: a hash table of states and pairing heaps over one array of node records.

The nodes of all searches of a lockstep batch share one array; `slot` identifies the search. A
pairing heap needs only links between nodes, so every search has its own queue without extra
storage, and decreasing the key of an open node is a cut and a merge, never a stale entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Bools, Bytes, Floats, Ints, Ints32
from hips.planner.packing import hash_state, same_state

Nodes: TypeAlias = npt.NDArray[Any]

FRESH, OPEN, CLOSED, GOAL, REJECTED, FREE, WAITING = 0, 1, 2, 3, 4, 5, 6
NONE = -1
TAIL, FREE_HEAD, ACTIONS_END = 0, 1, 2  # indices into the `meta` array

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
"""One node: 80 bytes. `kind` is a subgoal's code, or `~action`; `guessed` means that `h` is not
computed yet; `chain` links a hash bucket (or the free list); `child`, `sibling` and `previous`
link the heap."""


class Table(NamedTuple):
    """The arrays of a node table.

    Attributes:
        nodes: `[N]` records of `NODE`.
        states: `[N, S]`, packed.
        heads: `[buckets]`, the first node of each hash bucket plus one.
        meta: end of the nodes, first free node, end of the action log.
        action_log: actions of all subgoal edges, concatenated.
        roots: `[slots]`, the best open node of each search.
        orders: `[slots]`, number of accepted edges.
        num_nodes: `[slots]`.
        num_open_trusted: `[slots]`, open nodes reached by true steps.
        action_bytes: `[slots]`, live actions in the log.
    """

    nodes: Nodes
    states: Bytes
    heads: Ints32
    meta: Ints
    action_log: Bytes
    roots: Ints
    orders: Ints
    num_nodes: Ints
    num_open_trusted: Ints
    action_bytes: Ints


class Edges(NamedTuple):
    """Candidate edges, one entry each; see `relax`.

    Attributes:
        ids: `[M]`, target nodes.
        parents: `[M]`, source nodes.
        log_pi: `[M]`, log π of the path through the edge.
        lengths: `[M]`, low-level steps.
        kinds: `[M]`, a subgoal's code, or `~action`.
        tiers: `[M]`, priority tiers of the queue.
        keys: `[M]`, evaluation.
        goals: `[M]`, whether the target is a goal.
        actions: `[S, L]`, low-level actions of the first S edges, the subgoals.
    """

    ids: Ints
    parents: Ints
    log_pi: Floats
    lengths: Ints
    kinds: Ints32
    tiers: Bytes
    keys: Floats
    goals: Bools
    actions: Bytes


# -- pairing heaps -----------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _before(nodes: Nodes, a: int, b: int) -> bool:
    """Whether `a` is expanded before `b`, by tier, key and age."""
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
    """Restores the heap after the key of `node` decreased."""
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
def rebuild(table: Table) -> None:
    """Links all nodes into the bucket array, which must be empty."""
    nodes, heads = table.nodes, table.heads
    mask = heads.shape[0] - 1
    for node in range(table.meta[TAIL]):
        if nodes[node].status != FREE:
            bucket = nodes[node].hash & mask
            nodes[node].chain = heads[bucket] - 1
            heads[bucket] = node + 1


@njit(cache=True, nogil=True)
def intern(table: Table, slots: Ints, trusted: Bools, packed: Bytes) -> tuple[Ints, Bools]:
    """Finds or creates the nodes of states `packed`; returns them and which are new, both `[M]`.

    A state known only through learned dynamics (`trusted` is False) and the same state reached by
    true steps are two nodes.
    """
    nodes, heads, meta = table.nodes, table.heads, table.meta
    ids = np.empty(packed.shape[0], dtype=np.int64)
    fresh = np.zeros(packed.shape[0], dtype=np.bool_)
    mask = heads.shape[0] - 1
    for m in range(packed.shape[0]):
        # Searches in lockstep may hold the same states, so the slot is part of the hash.
        code = hash_state(packed[m], 2 * slots[m] + trusted[m]) & 0x7FFFFFFF
        bucket = code & mask
        node = heads[bucket] - 1
        while node != NONE:
            if (
                nodes[node].hash == code
                and nodes[node].slot == slots[m]
                and nodes[node].trusted == trusted[m]
                and same_state(table.states, node, packed, m)
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
            table.states[node] = packed[m]
            nodes[node].hash = code
            nodes[node].slot = slots[m]
            nodes[node].trusted = trusted[m]
            nodes[node].status = FRESH
            nodes[node].h = 0.0
            nodes[node].guessed = False
            nodes[node].chain = heads[bucket] - 1
            heads[bucket] = node + 1
            table.num_nodes[slots[m]] += 1
            fresh[m] = True
        ids[m] = node
    return ids, fresh


@njit(cache=True, nogil=True)
def relax(table: Table, edges: Edges, keep_first: bool) -> Bools:
    """Gives node `ids[m]` the edge `m` if the node is new, or open with a worse key.

    Closed nodes never change; with `keep_first` (close on generation), open ones do not either.
    Returns which edges were accepted, `[M]`.
    """
    nodes, meta, roots = table.nodes, table.meta, table.roots
    accepted = np.zeros(edges.ids.shape[0], dtype=np.bool_)
    for m in range(edges.ids.shape[0]):
        node = edges.ids[m]
        status = nodes[node].status
        if status in (CLOSED, WAITING) or (status == OPEN and keep_first):
            continue
        known = status in (OPEN, GOAL)
        if known and not (
            edges.tiers[m] < nodes[node].tier
            or (edges.tiers[m] == nodes[node].tier and edges.keys[m] < nodes[node].key)
        ):
            continue
        accepted[m] = True
        slot = nodes[node].slot
        parent = edges.parents[m]
        if status != FRESH and nodes[node].kind >= 0:
            table.action_bytes[slot] -= nodes[node].steps - nodes[nodes[node].parent].steps
        nodes[node].parent = parent
        nodes[node].depth = nodes[parent].depth + 1
        nodes[node].steps = nodes[parent].steps + edges.lengths[m]
        nodes[node].log_pi = edges.log_pi[m]
        nodes[node].kind = edges.kinds[m]
        nodes[node].tier = edges.tiers[m]
        nodes[node].key = edges.keys[m]
        nodes[node].order = table.orders[slot]
        table.orders[slot] += 1
        nodes[node].actions = meta[ACTIONS_END]
        if edges.kinds[m] >= 0:
            for i in range(edges.lengths[m]):
                table.action_log[meta[ACTIONS_END] + i] = edges.actions[m, i]
            meta[ACTIONS_END] += edges.lengths[m]
            table.action_bytes[slot] += edges.lengths[m]
        if edges.goals[m]:
            nodes[node].status = GOAL
        elif status == OPEN:
            roots[slot] = _decrease(nodes, roots[slot], node)
        else:
            nodes[node].status = OPEN
            table.num_open_trusted[slot] += nodes[node].trusted
            roots[slot] = _push(nodes, roots[slot], node)
    return accepted


@njit(cache=True, nogil=True)
def pop(nodes: Nodes, roots: Ints, num_open_trusted: Ints, slots: Ints) -> Ints:
    """Pops and closes the best node of each slot's queue, `[B]`; no queue may be empty."""
    taken = np.empty(slots.shape[0], dtype=np.int64)
    for b in range(slots.shape[0]):
        slot = slots[b]
        node = roots[slot]
        roots[slot] = _without_root(nodes, node)
        nodes[node].status = CLOSED
        num_open_trusted[slot] -= nodes[node].trusted
        taken[b] = node
    return taken


@njit(cache=True, nogil=True)
def put_back(nodes: Nodes, roots: Ints, num_open_trusted: Ints, ids: Ints, keys: Floats) -> None:
    """Reopens nodes that were just popped, with new keys."""
    for m in range(ids.shape[0]):
        node = ids[m]
        slot = nodes[node].slot
        nodes[node].key = keys[m]
        nodes[node].status = OPEN
        num_open_trusted[slot] += nodes[node].trusted
        roots[slot] = _push(nodes, roots[slot], node)


@njit(cache=True, nogil=True)
def requeue(nodes: Nodes, roots: Ints, num_open_trusted: Ints, ids: Ints) -> None:
    """Queues nodes that were just expanded once more, in the next tier.

    They have children already, so they keep their edge: another one could come from a descendant.
    """
    for m in range(ids.shape[0]):
        node = ids[m]
        slot = nodes[node].slot
        nodes[node].tier += 1
        nodes[node].status = WAITING
        num_open_trusted[slot] += nodes[node].trusted
        roots[slot] = _push(nodes, roots[slot], node)


@njit(cache=True, nogil=True)
def release(table: Table, slot: int) -> None:
    """Unlinks all nodes of a finished search and puts them on the free list."""
    nodes, heads, meta = table.nodes, table.heads, table.meta
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
def compact(table: Table, target: Bytes) -> None:
    """Copies the action sequences of live subgoal nodes to the front of `target`."""
    nodes, meta = table.nodes, table.meta
    end = 0
    for node in range(meta[TAIL]):
        if nodes[node].status == FREE or nodes[node].status == FRESH or nodes[node].kind < 0:
            continue
        start = nodes[node].actions
        length = nodes[node].steps - nodes[nodes[node].parent].steps
        for i in range(length):
            target[end + i] = table.action_log[start + i]
        nodes[node].actions = end
        end += length
    meta[ACTIONS_END] = end
