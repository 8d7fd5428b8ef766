"""The node table: all nodes of all searches in lockstep, in growing arrays."""

from __future__ import annotations

import numpy as np

from hips.arrays import ActionLog, Actions, Bools, Bytes, Floats, Grid, Grids, Ints
from hips.errors import ContractError
from hips.planner import heaps, kernels
from hips.planner.heaps import NODE, NONE, TRUE
from hips.planner.kernels import ACTIONS_END, FREE_HEAD, TAIL, Edges, Table
from hips.planner.packing import pack

ROOT = np.iinfo(np.int32).min
"""`kind` of a root, which has no incoming edge."""
MAX_ACTIONS = 65_535
"""Actions are stored in two bytes; `PENDING` is none of them."""
ACTION_BYTES = 2
WEIGHT_BYTES = 8
GROWTH = 32  # large arrays grow by 1/32: the system remaps such blocks without copying
GROWTH_BYTES = 2 << 20
COMPACTED = 1 << 20
"""Number of logged actions from which on dead ones are removed."""


class NodeTable:
    """Nodes of at most `num_slots` simultaneous searches over grids of one shape.

    A node costs `NODE.itemsize` (80) bytes, at most 8 for the hash, its state, two bytes per
    action of the subgoal edge that reached it, and 8 for its weight if the nodes are `weighted`.
    """

    def __init__(
        self, shape: tuple[int, int], num_slots: int, num_actions: int, weighted: bool = False
    ) -> None:
        if num_actions > MAX_ACTIONS:
            raise ContractError(
                f"the domain has {num_actions} actions; at most {MAX_ACTIONS} are allowed"
            )
        self.shape, self.num_slots = shape, num_slots
        row = NODE.itemsize + shape[0] * shape[1] + (WEIGHT_BYTES if weighted else 0)
        self.node_bytes = row + row // GROWTH + 8
        """Bytes per additional node: its state and its share of the hash table and spare room."""
        self.nodes = np.zeros(1024, dtype=NODE)
        self._states = np.zeros((1024, shape[0] * shape[1]), dtype=np.uint8)
        self._weighted = weighted
        self.log_weights = np.zeros(1024 if weighted else 0)
        """Logarithms of the weights of expanded nodes, if the search is `weighted`."""
        self._heads = np.zeros(1024, dtype=np.int32)
        self._action_log = np.zeros(1024, dtype=np.uint16)
        self._meta = np.array([0, NONE, 0], dtype=np.int64)
        self._roots = np.full(num_slots, NONE, dtype=np.int64)
        self._orders = np.zeros(num_slots, dtype=np.int64)
        self.num_nodes = np.zeros(num_slots, dtype=np.int64)
        self.num_open_true = np.zeros(num_slots, dtype=np.int64)
        self._num_actions = np.zeros(num_slots, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.nodes, self._states, self._heads, self._action_log, self.log_weights)
        return sum(array.nbytes for array in arrays)

    @property
    def used_bytes(self) -> int:
        """Bytes used by all active searches."""
        return int(self.slot_bytes().sum())

    def slot_bytes(self) -> Ints:
        """Bytes used by each slot's search, `[slots]`."""
        return self.num_nodes * self.node_bytes + ACTION_BYTES * self._num_actions

    def is_empty(self, slots: Ints) -> Bools:
        """Which queues are empty, `[B]`."""
        empty: Bools = self._roots[slots] == NONE
        return empty

    def num_open(self, slots: Ints) -> Ints:
        """Number of open nodes of each slot's search, `[B]`; scans all nodes."""
        used = self.nodes[: int(self._meta[TAIL])]
        waiting = np.isin(used["status"], (heaps.OPEN, heaps.WAITING))
        owners = used["slot"][waiting]
        counts: Ints = np.bincount(owners, minlength=len(self._roots))[slots]
        return counts

    def states(self, ids: Ints) -> Grids:
        """A copy of the states of nodes, `[B, H, W]`."""
        return self._states[ids].reshape(-1, *self.shape)

    def admit(self, slot: int, state: Grid) -> int:
        """Makes `state` the open root of a search in an unused slot."""
        slots = np.array([slot], dtype=np.int64)
        node = int(self.intern(slots, np.array([TRUE], dtype=np.uint8), state[None])[0][0])
        record = self.nodes[node]
        record["parent"], record["kind"], record["key"] = NONE, ROOT, -np.inf
        for name in ("depth", "steps", "log_pi", "tier", "order", "actions"):
            record[name] = 0
        for name in ("child", "sibling", "previous"):
            record[name] = NONE
        record["status"] = heaps.OPEN
        self._roots[slot], self._orders[slot] = node, 1
        self.num_open_true[slot] = 1
        return node

    def intern(self, slots: Ints, origins: Bytes, states: Grids) -> tuple[Ints, Bools]:
        """Nodes of `states` (created if new) and which are new, both `[M]`."""
        self._reserve_nodes(len(states))
        return kernels.intern(self._table(), slots, origins, pack(states))

    def lookup(self, slots: Ints, origins: Bytes, states: Grids) -> Ints:
        """Nodes of `states`, or `NONE`, `[M]`."""
        return kernels.lookup(self._table(), slots, origins, pack(states))

    def confirm(self, edges: Edges, origins: Bytes) -> None:
        """Opens popped pending nodes after their rollouts; see `kernels.confirm`."""
        self._reserve_actions(int(edges.lengths.sum()))
        kernels.confirm(self._table(), edges, origins)

    def relax(self, edges: Edges, keep_first: bool) -> Bools:
        """Offers edges to their nodes; returns which were accepted. See `kernels.relax`."""
        self._reserve_actions(int(edges.lengths[: len(edges.actions)].sum()))
        return kernels.relax(self._table(), edges, keep_first)

    def pop(self, slots: Ints) -> Ints:
        """Pops and closes the best open node of each slot, `[B]`; `NONE` where there is none."""
        return heaps.pop(self.nodes, self._roots, self.num_open_true, slots)

    def put_back(self, ids: Ints, keys: Floats) -> None:
        """Reopens nodes that were popped too early, with corrected keys."""
        heaps.put_back(self.nodes, self._roots, self.num_open_true, ids, keys)

    def requeue(self, ids: Ints) -> None:
        """Queues expanded nodes for their next stage; see `heaps.requeue`."""
        heaps.requeue(self.nodes, self._roots, self.num_open_true, ids)

    def _table(self) -> Table:
        return Table(
            self.nodes,
            self._states,
            self._heads,
            self._meta,
            self._action_log,
            self._roots,
            self._orders,
            self.num_nodes,
            self.num_open_true,
            self._num_actions,
        )

    def path(self, node: int) -> list[int]:
        """Nodes from the root (excluded) to `node`."""
        path: list[int] = []
        while self.nodes[node]["kind"] != ROOT:
            path.append(node)
            node = int(self.nodes[node]["parent"])
        return path[::-1]

    def edge_actions(self, node: int) -> Actions:
        """Low-level actions of the edge that reached `node`."""
        record = self.nodes[node]
        if record["kind"] < 0:
            return np.array([~int(record["kind"])], dtype=np.int64)
        start = int(record["actions"])
        length = int(record["steps"]) - int(self.nodes[record["parent"]]["steps"])
        return self._action_log[start : start + length].astype(np.int64)

    def release(self, slot: int) -> None:
        """Drops a finished search; its nodes are reused."""
        kernels.release(self._table(), slot)
        self._roots[slot] = NONE
        for counter in (self.num_nodes, self.num_open_true, self._num_actions):
            counter[slot] = 0
        used = int(self._meta[ACTIONS_END])
        living = int(self._num_actions.sum())
        if used > COMPACTED and living < used // 2:
            target: ActionLog = np.zeros(living + COMPACTED, dtype=np.uint16)
            kernels.compact(self._table(), target)
            self._action_log = target

    def _reserve_nodes(self, count: int) -> None:
        """Makes room for `count` more nodes."""
        needed = int(self._meta[TAIL]) + count
        if needed > len(self.nodes) and self._meta[FREE_HEAD] != NONE:
            needed -= self._num_free(count)
        if needed > len(self.nodes):
            row = NODE.itemsize + self._states.shape[1]
            spare = max(len(self.nodes) // GROWTH, min(len(self.nodes), GROWTH_BYTES // row))
            size = max(needed, len(self.nodes) + spare)
            self.nodes.resize(size, refcheck=False)
            self._states.resize((size, self._states.shape[1]), refcheck=False)
            if self._weighted:
                self.log_weights.resize(size, refcheck=False)
        if needed > len(self._heads):
            self._grow_heads(1 << (needed - 1).bit_length())

    def _grow_heads(self, size: int) -> None:
        """Gives the hash table `size` buckets, or its old ones again if memory is short."""
        before = len(self._heads)
        self._heads = np.zeros(0, dtype=np.int32)  # never both arrays at once
        try:
            self._heads = np.zeros(size, dtype=np.int32)
        finally:
            if not len(self._heads):
                self._heads = np.zeros(before, dtype=np.int32)
            kernels.rebuild(self._table())

    def _num_free(self, at_most: int) -> int:
        free, node = 0, int(self._meta[FREE_HEAD])
        while node != NONE and free < at_most:
            free, node = free + 1, int(self.nodes[node]["chain"])
        return free

    def _reserve_actions(self, count: int) -> None:
        needed = int(self._meta[ACTIONS_END]) + count
        if needed > len(self._action_log):
            size = needed + len(self._action_log) // 8 + 1024
            self._action_log.resize(size, refcheck=False)
