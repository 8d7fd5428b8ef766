"""Children whose rollout is left for later.

Most subgoals are never expanded, so an expander may leave the rollout to a subgoal *pending*: the
child waits in the queue with the decoded state, its h and an estimated length. When it is about to
be expanded, the rollout happens. If it arrives, the child gets its true length, key and actions;
if it does not, the child is dropped. A pending node is a node of its own (see `kernels.intern`):
it never closes, hides or replaces the same state reached by steps, and it is never expanded, so
neither plans nor proofs depend on it.
"""

from __future__ import annotations

import numpy as np

from hips.arrays import Bools, Bytes, Ints
from hips.domains.base import Domain
from hips.planner.children import Children, Expander
from hips.planner.heaps import CLOSED, MODEL, NONE, PENDING, REJECTED, TRUE, WAITING
from hips.planner.kernels import Edges
from hips.planner.keys import Keys
from hips.planner.ledger import Ledger
from hips.planner.nodes import ROOT, NodeTable
from hips.planner.protocols import DynamicsMode
from hips.planner.rollouts import Rollouts

_DONE = (CLOSED, WAITING)


class PendingNodes:
    """The pending nodes of searches in lockstep."""

    def __init__(
        self,
        domain: Domain,
        table: NodeTable,
        ledger: Ledger,
        expander: Expander,
        keys: Keys,
        keep_first: bool = False,
    ) -> None:
        self.domain, self.table, self.ledger = domain, table, ledger
        self.expander, self.keys, self.keep_first = expander, keys, keep_first

    def among(self, ids: Ints) -> Bools:
        """Which nodes are pending, `[B]`."""
        pending: Bools = self.table.nodes["origin"][ids] == PENDING
        return pending

    def origins(self, parents: Ints, children: Children) -> Bytes:
        """Origins `[M]` of children of nodes `parents`."""
        true = children.exact & (self.table.nodes["origin"][parents] == TRUE)
        found = np.where(true, TRUE, MODEL)
        if children.pending is not None:
            found[children.pending] = PENDING
        return found.astype(np.uint8)

    def close_known(self, ids: Ints, parents: Ints) -> None:
        """Closes new pending children of `parents` whose states have been expanded already."""
        twins = self._twins(ids, self._destined(parents))
        self.table.nodes["status"][ids[self._is_done(twins)]] = CLOSED

    def share_h(self, ids: Ints, wanted: Bools) -> Bools:
        """Copies h of `wanted` nodes from other nodes of their states; returns which still lack it.

        A state is evaluated once, whether it was reached, is pending, or both.
        """
        nodes = self.table.nodes
        for origin in (PENDING, TRUE, MODEL):
            rows = np.flatnonzero(wanted & (nodes["origin"][ids] != origin))
            if not len(rows):
                continue
            twins = self._twins(ids[rows], np.full(len(rows), origin, dtype=np.uint8))
            known = (twins != NONE) & (nodes["guessed"][twins] == 0)
            # A root is never evaluated, and a twin made by the same batch is not yet.
            known &= (nodes["kind"][twins] != ROOT) & ~np.isin(twins, ids[wanted])
            nodes["h"][ids[rows[known]]] = nodes["h"][twins[known]]
            wanted = wanted.copy()
            wanted[rows[known]] = False
        return wanted

    def settle(self, ids: Ints) -> Ints:
        """Rolls out to popped pending nodes; returns the goals that were reached.

        Nodes that are reached go back to the queue; the others are dropped.
        """
        nodes = self.table.nodes
        origins = self._destined(nodes["parent"][ids].astype(np.int64))
        twins = self._twins(ids, origins)
        done = self._is_done(twins)
        nodes["status"][ids] = REJECTED
        ids, origins, twins = ids[~done], origins[~done], twins[~done]
        if not len(ids):
            return ids
        starts = self.table.states(nodes["parent"][ids].astype(np.int64))
        ends = self.expander.connect(starts, self.table.states(ids))
        self._count(ids, ends)
        goals = ends.success & self.domain.is_goal(ends.states)
        alone = ends.success & ~goals & (twins == NONE)
        self.table.confirm(self._edges(ids, ids, ends, alone), origins[alone])
        joining = np.flatnonzero(ends.success & ~alone)
        slots = nodes["slot"][ids[joining]].astype(np.int64)
        reached, _ = self.table.intern(slots, origins[joining], ends.states[joining])
        targets = ids.copy()
        targets[joining] = reached
        chosen = np.isin(np.arange(len(ids)), joining)
        self.table.relax(self._edges(ids, targets, ends, chosen, goals), self.keep_first)
        return targets[goals]

    def _destined(self, parents: Ints) -> Bytes:
        """Origins `[M]` that pending children of `parents` get once they are reached."""
        true = self.table.nodes["origin"][parents] == TRUE
        if self.expander.mode is not DynamicsMode.TRUE:
            true = np.zeros(len(parents), dtype=np.bool_)
        return np.where(true, TRUE, MODEL).astype(np.uint8)

    def _is_done(self, twins: Ints) -> Bools:
        """Which nodes exist and have been expanded, `[M]`."""
        done: Bools = (twins != NONE) & np.isin(self.table.nodes["status"][twins], _DONE)
        return done

    def _twins(self, ids: Ints, origins: Bytes) -> Ints:
        """Nodes of the same search and state with other origins, or `NONE`, `[M]`."""
        slots = self.table.nodes["slot"][ids].astype(np.int64)
        return self.table.lookup(slots, origins, self.table.states(ids))

    def _count(self, ids: Ints, ends: Rollouts) -> None:
        """Adds the costs of rollouts to the searches of their nodes."""
        slots = self.table.nodes["slot"][ids]
        learned = self.expander.mode is not DynamicsMode.TRUE
        add, count = np.add.at, self.ledger.count
        add(count("dynamics_rows" if learned else "environment_steps"), slots, ends.simulated)
        add(count("network_rows"), slots, ends.policy_calls)
        add(count("reach_rows"), slots, ends.policy_calls)
        add(count("late_rollouts"), slots, 1)
        add(count("late_unreached"), slots, ~ends.success)
        if learned:
            batched = np.zeros(self.table.num_slots, dtype=np.int64)
            np.maximum.at(batched, slots, ends.simulated)
            self.ledger.count("dynamics_calls")[:] += batched

    def _edges(
        self, ids: Ints, targets: Ints, ends: Rollouts, chosen: Bools, goals: Bools | None = None
    ) -> Edges:
        """The edges of the `chosen` among the pending nodes `ids`, now to nodes `targets`."""
        nodes, own = self.table.nodes, ids[chosen]
        found = nodes[own]
        found["steps"] = nodes["steps"][found["parent"]] + ends.lengths[chosen]
        return Edges(
            targets[chosen],
            found["parent"].astype(np.int64),
            found["log_pi"],
            ends.lengths[chosen],
            found["kind"],
            found["tier"],
            self.keys.of_nodes(found),
            np.zeros(len(own), dtype=np.bool_) if goals is None else goals[chosen],
            ends.actions[chosen],
        )
