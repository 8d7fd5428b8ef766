"""Compiled parts of a graph of states: hashing, linking, and distances.

States are rows of 64-bit words. `successors[n]` holds the nodes that the actions lead to; an
unexpanded node has `UNKNOWN` there.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.arrays import Bools, Ints, Ints32

Words: TypeAlias = npt.NDArray[np.uint64]  # [N, W]

UNKNOWN = -1
FAR = np.iinfo(np.int32).max
"""Distance of nodes that are not reached."""


class Links(NamedTuple):
    """The edges of a graph, and a shortest known path from the start to every node.

    Attributes:
        successors: `[N, A]`.
        steps: `[N]`, length of the path; `FAR` without one.
        parents: `[N]`, the node before the last on it.
    """

    successors: Ints32
    steps: Ints32
    parents: Ints32


@njit(cache=True, nogil=True)
def _hash(words: Words, row: int) -> np.uint64:
    """A 64-bit hash other than 0; two lanes, because a multiplication waits for the last one."""
    multiplier = np.uint64(0x9E3779B97F4A7C15)
    even, odd = np.uint64(0xD1B54A32D192ED03), np.uint64(0x8CB92BA72F3D8DD7)
    width = words.shape[1]
    for i in range(0, width - 1, 2):
        even = (even ^ words[row, i]) * multiplier
        even ^= even >> np.uint64(29)
        odd = (odd ^ words[row, i + 1]) * multiplier
        odd ^= odd >> np.uint64(31)
    if width % 2:
        even = (even ^ words[row, width - 1]) * multiplier
        even ^= even >> np.uint64(29)
    code = (even + (odd << np.uint64(1))) * multiplier
    code ^= code >> np.uint64(32)
    return max(code, np.uint64(1))


@njit(cache=True, nogil=True)
def intern(table: Words, stored: Words, count: int, words: Words) -> tuple[Ints32, int]:
    """Finds or adds states; returns their nodes `[M]` and the new number of nodes.

    States are compared by their hashes only, which saves most of the memory traffic: two of a
    million states have the same one in three of 10⁸ graphs.

    Args:
        table: `[T, 2]`, open addressing: hashes and nodes; a hash of 0 is a free place.
        stored: states of the nodes, with room for M more.
        count: number of nodes.
        words: `[M, W]`, the states.
    """
    nodes = np.empty(words.shape[0], dtype=np.int32)
    mask = np.uint64(table.shape[0] - 1)
    for m in range(words.shape[0]):
        code = _hash(words, m)
        place = code & mask
        while table[place, 0] != 0 and table[place, 0] != code:
            place = (place + np.uint64(1)) & mask
        if table[place, 0] == 0:
            table[place, 0] = code
            table[place, 1] = count
            stored[count] = words[m]
            count += 1
        nodes[m] = table[place, 1]
    return nodes, count


@njit(cache=True, nogil=True)
def link(links: Links, count: int, nodes: Ints32, children: Ints32) -> None:
    """Expands `nodes` to `children [M, A]`, and updates the shortest paths of all `count` nodes."""
    successors, steps, parents = links
    queue = np.empty(count + 1, dtype=np.int32)
    queued = np.zeros(count, dtype=np.bool_)
    head = tail = 0
    for m in range(nodes.shape[0]):
        successors[nodes[m]] = children[m]
        queued[nodes[m]] = True
        queue[tail] = nodes[m]
        tail += 1
    while head != tail:
        node = queue[head]
        head = 0 if head == count else head + 1
        queued[node] = False
        if successors[node, 0] == UNKNOWN or steps[node] == FAR:
            continue
        for action in range(successors.shape[1]):
            child = successors[node, action]
            if steps[node] + 1 < steps[child]:
                steps[child] = steps[node] + 1
                parents[child] = node
                if not queued[child]:
                    queued[child] = True
                    queue[tail] = child
                    tail = 0 if tail == count else tail + 1


@njit(cache=True, nogil=True)
def near(successors: Ints32, count: int, sources: Ints32) -> tuple[Ints32, Ints32]:
    """Unexpanded nodes that can be reached from `sources`, nearest first, and their distances."""
    distances = np.full(count, FAR, dtype=np.int32)
    queue = np.empty(count, dtype=np.int32)
    head = tail = found = 0
    for node in sources:
        distances[node] = 0
        queue[tail] = node
        tail += 1
    unexpanded = np.empty(count, dtype=np.int32)
    while head < tail:
        node = queue[head]
        head += 1
        if successors[node, 0] == UNKNOWN:
            unexpanded[found] = node
            found += 1
            continue
        for action in range(successors.shape[1]):
            child = successors[node, action]
            if distances[child] == FAR:
                distances[child] = distances[node] + 1
                queue[tail] = child
                tail += 1
    return unexpanded[:found].copy(), distances[unexpanded[:found]]


@njit(cache=True, nogil=True)
def path_to(links: Links, goal: int) -> tuple[Ints, Ints32]:
    """The shortest known path to `goal`: its actions `[L]` and nodes `[L + 1]`."""
    length = links.steps[goal]
    actions = np.empty(length, dtype=np.int64)
    nodes = np.empty(length + 1, dtype=np.int32)
    nodes[length] = goal
    for place in range(length - 1, -1, -1):
        child = nodes[place + 1]
        parent = links.parents[child]
        nodes[place] = parent
        action = 0
        while links.successors[parent, action] != child:
            action += 1
        actions[place] = action
    return actions, nodes


@njit(cache=True, nogil=True)
def next_layer(successors: Ints32, layer: Ints32, seen: Bools) -> Ints32:
    """Distinct successors of expanded nodes that are not `seen`."""
    children = np.empty(layer.shape[0] * successors.shape[1], dtype=np.int32)
    count = 0
    for node in layer:
        for action in range(successors.shape[1]):
            child = successors[node, action]
            if not seen[child]:
                seen[child] = True
                children[count] = child
                count += 1
    for place in range(count):
        seen[children[place]] = False
    return children[:count]


@njit(cache=True, nogil=True)
def _leads_to(successors: Ints32, node: int, target: int) -> bool:
    for action in range(successors.shape[1]):  # noqa: SIM110
        if successors[node, action] == target:
            return True
    return False


@njit(cache=True, nogil=True)
def split_layer(successors: Ints32, layer: Ints32, seen: Bools) -> tuple[Ints32, Ints32]:
    """Distinct unseen successors from which one action leads back into `layer`, and the others.

    All nodes concerned must be expanded; marks them as seen.
    """
    children = np.empty(layer.shape[0] * successors.shape[1], dtype=np.int32)
    undone = 0
    for node in layer:
        for action in range(successors.shape[1]):
            child = successors[node, action]
            if not seen[child] and _leads_to(successors, child, node):
                seen[child] = True
                children[undone] = child
                undone += 1
    count = undone
    for node in layer:
        for action in range(successors.shape[1]):
            child = successors[node, action]
            if not seen[child]:
                seen[child] = True
                children[count] = child
                count += 1
    return children[:undone].copy(), children[undone:count].copy()
