"""Node records, and the queues of open nodes: pairing heaps linked through the records.

A pairing heap needs only links between nodes, so every search has its own queue without extra
storage, and decreasing the key of an open node is a cut and a merge, never a stale entry.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Floats, Ints

Nodes: TypeAlias = npt.NDArray[Any]

FRESH, OPEN, CLOSED, GOAL, REJECTED, FREE, WAITING = 0, 1, 2, 3, 4, 5, 6
NONE = -1
MODEL, TRUE, PENDING = 0, 1, 2
"""Origins of a node: learned dynamics reached it, true steps did, or nothing did yet: its rollout
is left for later."""

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
        ("origin", np.uint8),
        ("guessed", np.uint8),
    ],
    align=True,
)
"""One node: 80 bytes. `kind` is a subgoal's code, or `~action`; `guessed` means that `h` is not
computed yet; `chain` links a hash bucket (or the free list); `child`, `sibling` and `previous`
link the heap."""


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
def push(nodes: Nodes, root: int, node: int) -> int:
    """Adds a node to a heap, which may be empty; returns its best node."""
    nodes[node].child = NONE
    nodes[node].sibling = NONE
    nodes[node].previous = NONE
    return int(_merge(nodes, root, node))


@njit(cache=True, nogil=True)
def decrease(nodes: Nodes, root: int, node: int) -> int:
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


@njit(cache=True, nogil=True)
def pop(nodes: Nodes, roots: Ints, num_open_true: Ints, slots: Ints) -> Ints:
    """Pops and closes the best node of each slot's queue, `[B]`; `NONE` where it is empty.

    A slot that appears more than once gives its next best nodes.
    """
    taken = np.empty(slots.shape[0], dtype=np.int64)
    for b in range(slots.shape[0]):
        slot = slots[b]
        node = roots[slot]
        taken[b] = node
        if node == NONE:
            continue
        roots[slot] = _without_root(nodes, node)
        nodes[node].status = CLOSED
        num_open_true[slot] -= nodes[node].origin == TRUE
    return taken


@njit(cache=True, nogil=True)
def put_back(nodes: Nodes, roots: Ints, num_open_true: Ints, ids: Ints, keys: Floats) -> None:
    """Reopens nodes that were just popped, with new keys."""
    for m in range(ids.shape[0]):
        node = ids[m]
        slot = nodes[node].slot
        nodes[node].key = keys[m]
        nodes[node].status = OPEN
        num_open_true[slot] += nodes[node].origin == TRUE
        roots[slot] = push(nodes, roots[slot], node)


@njit(cache=True, nogil=True)
def requeue(nodes: Nodes, roots: Ints, num_open_true: Ints, ids: Ints) -> None:
    """Queues nodes that were just expanded once more, in the next tier.

    They have children already, so they keep their edge: another one could come from a descendant.
    """
    for m in range(ids.shape[0]):
        node = ids[m]
        slot = nodes[node].slot
        nodes[node].tier += 1
        nodes[node].status = WAITING
        num_open_true[slot] += nodes[node].origin == TRUE
        roots[slot] = push(nodes, roots[slot], node)
