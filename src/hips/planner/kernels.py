"""Compiled node table: a hash table of states over one array of node records.

The nodes of all searches of a lockstep batch share one array; `slot` identifies the search. Their
queues are those of `hips.planner.heaps`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from hips.arrays import ActionLog, Bools, Bytes, Floats, Ints, Ints32
from hips.planner.heaps import (
    CLOSED,
    FREE,
    FRESH,
    GOAL,
    NONE,
    OPEN,
    TRUE,
    WAITING,
    Nodes,
    decrease,
    push,
)
from hips.planner.packing import hash_state, same_state

TAIL, FREE_HEAD, ACTIONS_END = 0, 1, 2  # indices into the `meta` array


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
        num_open_true: `[slots]`, open nodes reached by true steps.
        num_actions: `[slots]`, live actions in the log.
    """

    nodes: Nodes
    states: Bytes
    heads: Ints32
    meta: Ints
    action_log: ActionLog
    roots: Ints
    orders: Ints
    num_nodes: Ints
    num_open_true: Ints
    num_actions: Ints


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
    actions: ActionLog


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
def _code(packed: Bytes, slot: int, origin: int) -> int:
    """Searches in lockstep may hold the same states, so the slot is part of the hash."""
    return int(hash_state(packed, 3 * slot + origin) & 0x7FFFFFFF)


@njit(cache=True, nogil=True)
def _find(table: Table, slot: int, origin: int, packed: Bytes, m: int, code: int) -> int:
    """The node of state `packed[m]` with this hash, or `NONE`."""
    nodes = table.nodes
    node = table.heads[code & (table.heads.shape[0] - 1)] - 1
    while node != NONE:
        if (
            nodes[node].hash == code
            and nodes[node].slot == slot
            and nodes[node].origin == origin
            and same_state(table.states, node, packed, m)
        ):
            break
        node = nodes[node].chain
    return int(node)


@njit(cache=True, nogil=True)
def _link(table: Table, node: int, code: int) -> None:
    """Puts a node at the front of its bucket."""
    bucket = code & (table.heads.shape[0] - 1)
    table.nodes[node].hash = code
    table.nodes[node].chain = table.heads[bucket] - 1
    table.heads[bucket] = node + 1


@njit(cache=True, nogil=True)
def _unlink(table: Table, node: int) -> None:
    """Takes a node out of its bucket."""
    nodes, heads = table.nodes, table.heads
    bucket = nodes[node].hash & (heads.shape[0] - 1)
    other = heads[bucket] - 1
    if other == node:
        heads[bucket] = nodes[node].chain + 1
        return
    while nodes[other].chain != node:
        other = nodes[other].chain
    nodes[other].chain = nodes[node].chain


@njit(cache=True, nogil=True)
def lookup(table: Table, slots: Ints, origins: Bytes, packed: Bytes) -> Ints:
    """The nodes of states `packed`, or `NONE`, `[M]`."""
    ids = np.empty(packed.shape[0], dtype=np.int64)
    for m in range(packed.shape[0]):
        code = _code(packed[m], slots[m], origins[m])
        ids[m] = _find(table, slots[m], origins[m], packed, m, code)
    return ids


@njit(cache=True, nogil=True)
def intern(table: Table, slots: Ints, origins: Bytes, packed: Bytes) -> tuple[Ints, Bools]:
    """Finds or creates the nodes of states `packed`; returns them and which are new, both `[M]`.

    A state reached by true steps, the same state known only through learned dynamics, and the same
    state whose rollout is left for later are different nodes.
    """
    nodes, meta = table.nodes, table.meta
    ids = np.empty(packed.shape[0], dtype=np.int64)
    fresh = np.zeros(packed.shape[0], dtype=np.bool_)
    for m in range(packed.shape[0]):
        code = _code(packed[m], slots[m], origins[m])
        node = _find(table, slots[m], origins[m], packed, m, code)
        if node == NONE:
            node = meta[FREE_HEAD]
            if node == NONE:
                node = meta[TAIL]
                meta[TAIL] += 1
            else:
                meta[FREE_HEAD] = nodes[node].chain
            table.states[node] = packed[m]
            nodes[node].slot = slots[m]
            nodes[node].origin = origins[m]
            nodes[node].status = FRESH
            nodes[node].kind = -1  # without an edge there are no actions to log or to compact
            nodes[node].h = 0.0
            nodes[node].guessed = False
            _link(table, node, code)
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
    nodes, roots = table.nodes, table.roots
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
            table.num_actions[slot] -= nodes[node].steps - nodes[nodes[node].parent].steps
        nodes[node].parent = parent
        nodes[node].depth = nodes[parent].depth + 1
        nodes[node].steps = nodes[parent].steps + edges.lengths[m]
        nodes[node].log_pi = edges.log_pi[m]
        nodes[node].kind = edges.kinds[m]
        nodes[node].tier = edges.tiers[m]
        nodes[node].key = edges.keys[m]
        nodes[node].order = table.orders[slot]
        table.orders[slot] += 1
        nodes[node].actions = table.meta[ACTIONS_END]
        if edges.kinds[m] >= 0:
            _log_actions(table, slot, edges.actions[m], edges.lengths[m])
        if edges.goals[m]:
            nodes[node].status = GOAL
        elif status == OPEN:
            roots[slot] = decrease(nodes, roots[slot], node)
        else:
            nodes[node].status = OPEN
            table.num_open_true[slot] += nodes[node].origin == TRUE
            roots[slot] = push(nodes, roots[slot], node)
    return accepted


@njit(cache=True, nogil=True)
def _log_actions(table: Table, slot: int, actions: ActionLog, length: int) -> None:
    """Appends the actions of an edge to the log."""
    for i in range(length):
        table.action_log[table.meta[ACTIONS_END] + i] = actions[i]
    table.meta[ACTIONS_END] += length
    table.num_actions[slot] += length


@njit(cache=True, nogil=True)
def confirm(table: Table, edges: Edges, origins: Bytes) -> None:
    """Opens popped pending nodes `edges.ids` with true lengths, keys and actions.

    No node of the same state may have the new origin `origins[m]`.
    """
    nodes = table.nodes
    for m in range(edges.ids.shape[0]):
        node = edges.ids[m]
        slot = nodes[node].slot
        before = nodes[nodes[node].parent].steps
        table.num_actions[slot] -= nodes[node].steps - before
        _unlink(table, node)
        nodes[node].origin = origins[m]
        _link(table, node, _code(table.states[node], slot, origins[m]))
        nodes[node].steps = before + edges.lengths[m]
        nodes[node].key = edges.keys[m]
        nodes[node].actions = table.meta[ACTIONS_END]
        _log_actions(table, slot, edges.actions[m], edges.lengths[m])
        nodes[node].status = OPEN
        table.num_open_true[slot] += origins[m] == TRUE
        table.roots[slot] = push(nodes, table.roots[slot], node)


@njit(cache=True, nogil=True)
def release(table: Table, slot: int) -> None:
    """Unlinks all nodes of a finished search and puts them on the free list."""
    nodes, meta = table.nodes, table.meta
    for node in range(meta[TAIL]):
        if nodes[node].status == FREE or nodes[node].slot != slot:
            continue
        _unlink(table, node)
        nodes[node].status = FREE
        nodes[node].chain = meta[FREE_HEAD]
        meta[FREE_HEAD] = node


@njit(cache=True, nogil=True)
def compact(table: Table, target: ActionLog) -> None:
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
