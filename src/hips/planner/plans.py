"""From goals to plans: every plan is replayed in the true domain before it counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hips.arrays import Actions, Grid, Grids, Ints
from hips.domains.base import Domain
from hips.errors import ContractError
from hips.planner.children import Expander
from hips.planner.heaps import GOAL, REJECTED, TRUE
from hips.planner.ledger import Ledger
from hips.planner.nodes import NodeTable
from hips.planner.protocols import PENDING, DynamicsMode
from hips.planner.result import Segment
from hips.planner.validate import is_plan


class Plans:
    """Plans of the goals that searches in lockstep reach.

    A verifier may have accepted an edge without a rollout; its actions are *pending*. They are
    found when the edge is part of a plan. If they are not, the goal is rejected.
    """

    def __init__(
        self, domain: Domain, table: NodeTable, ledger: Ledger, expander: Expander
    ) -> None:
        self.domain, self.table, self.ledger, self.expander = domain, table, ledger, expander
        self._late: dict[int, Actions] = {}

    def best(self, goals: Ints, starts: Sequence[Grid | None]) -> dict[int, int]:
        """The best of the nodes `goals` of each slot whose plan passes the replay.

        `starts` has the start state of each slot.
        """
        self._late.clear()
        solved: dict[int, int] = {}
        if not len(goals):
            return solved
        nodes = self.table.nodes
        found = np.unique(goals)
        ranks = (nodes["order"][found], nodes["key"][found], nodes["tier"][found])
        for node in found[np.lexsort(ranks)]:
            slot = int(nodes["slot"][node])
            if nodes["status"][node] != GOAL or slot in solved:
                continue
            start = starts[slot]
            assert start is not None
            if self._is_valid(slot, start, int(node)):
                solved[slot] = int(node)
            else:
                nodes["status"][node] = REJECTED
                self.ledger.count("replans")[slot] += 1
        return solved

    def actions(self, nodes: list[int]) -> Actions:
        """The actions along the edges to `nodes`, a path."""
        edges = [self._edge(node) for node in nodes]
        return np.concatenate(edges) if edges else np.zeros(0, dtype=np.int64)

    def segments(self, nodes: list[int]) -> tuple[Segment, ...]:
        """The edges to `nodes`, a path; edges after an early goal are left out."""
        found = (self._segment(node) for node in nodes)
        return tuple(segment for segment in found if segment.steps)

    def _segment(self, node: int) -> Segment:
        kind = int(self.table.nodes["kind"][node])
        if kind >= 0:
            return Segment("subgoal", str(kind), len(self._edge(node)))
        return Segment("action", self.domain.spec.actions[~kind], len(self._edge(node)))

    def _edge(self, node: int) -> Actions:
        return self._late[node] if node in self._late else self.table.edge_actions(node)

    def _is_valid(self, slot: int, start: Grid, node: int) -> bool:
        path = self.table.path(node)
        trusted = bool(self.table.nodes["origin"][node] == TRUE)
        if not trusted and not self._connect(slot, path):
            return False
        plan = self.actions(path)
        valid = is_plan(self.domain, start, plan)
        if self.expander.mode is not DynamicsMode.TRUE or not trusted:
            self.ledger.count("environment_steps")[slot] += len(plan)
        elif not valid:
            raise ContractError(
                f"'{self.domain.name}': a plan made by its own `step` fails on replay; "
                "`step` must be deterministic and must not modify its input"
            )
        return valid

    def _connect(self, slot: int, path: list[int]) -> bool:
        """Finds the actions of pending edges of a path; False if some are not found."""
        for node in path:  # another goal of the same search may have left actions here
            self._late.pop(node, None)
        pending = [node for node in path if self.table.edge_actions(node)[0] == PENDING]
        if not pending:
            return True
        parents = self.table.nodes["parent"][pending].astype(np.int64)
        targets: Grids = self.table.states(np.array(pending))
        found = self.expander.connect(self.table.states(parents), targets)
        self.ledger.count("environment_steps")[slot] += int(found.simulated.sum())
        self.ledger.count("network_rows")[slot] += int(found.policy_calls.sum())
        self.ledger.count("reach_rows")[slot] += int(found.policy_calls.sum())
        if not found.success.all():
            return False
        for row, node in enumerate(pending):
            self._late[node] = found.actions[row, : found.lengths[row]].astype(np.int64)
        # A rollout that passes through a goal ends the plan there.
        early = self.domain.is_goal(found.states)
        if early.any():
            last = path.index(pending[int(np.flatnonzero(early)[0])])
            for node in path[last + 1 :]:
                self._late[node] = np.zeros(0, dtype=np.int64)
        return True
