"""Rounds of a search, for observers.

Every round expands the best node, or nodes, of each active search. Rounds are recorded only for
observers that want them; an unobserved search pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hips.arrays import Bools, Floats, Grids, Ints, Ints32
from hips.planner.children import Children, Rejected
from hips.planner.kernels import Edges
from hips.planner.nodes import NodeTable
from hips.planner.result import Result


@dataclass(frozen=True, slots=True)
class Expanded:
    """The nodes that a round expanded, by search.

    Attributes:
        problems: `[B]`, the problem of each node.
        nodes: `[B]`, their numbers, unique within a problem.
        states: `[B, H, W]`.
        h: `[B]`, estimated remaining steps; 0 for a root.
        keys: `[B]`, evaluation; -∞ for a root.
        parents: `[B]`, the numbers of their parents; -1 for a root.
        steps: `[B]`, l; a pending child's was an estimate.
    """

    problems: Ints
    nodes: Ints
    states: Grids
    h: Floats
    keys: Floats
    parents: Ints
    steps: Ints


@dataclass(frozen=True, slots=True)
class Offered:
    """The children that a round generated.

    Attributes:
        parents: `[M]`, row of the parent in `Expanded`.
        nodes: `[M]`, their numbers; a known state keeps its number.
        states: `[M, H, W]`.
        kinds: `[M]`, a subgoal's code, or `~action`.
        lengths: `[M]`, low-level steps of the edge.
        log_probabilities: `[M]`, log π(child | parent) of eq:pi.
        log_pi: `[M]`, log π of the whole path.
        depths: `[M]`, g.
        steps: `[M]`, l.
        h: `[M]`, estimated remaining steps.
        guessed: `[M]`, whether h was only derived from the parent's.
        keys: `[M]`, evaluation.
        tiers: `[M]`, 1 for actions in the limit ε → 0; a lower tier is expanded first.
        goals: `[M]`, whether they are goals.
        accepted: `[M]`, whether the edge is new or better than the known one.
        pending: `[M]`, whether the rollout is left for later, so that length, l and key are
            estimates.
    """

    parents: Ints
    nodes: Ints
    states: Grids
    kinds: Ints32
    lengths: Ints
    log_probabilities: Floats
    log_pi: Floats
    depths: Ints
    steps: Ints
    h: Floats
    guessed: Bools
    keys: Floats
    tiers: Ints
    goals: Bools
    accepted: Bools
    pending: Bools


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a lockstep batch.

    Attributes:
        number: 1-based.
        expanded: the nodes expanded.
        offered: their children.
        rejected: proposed subgoals that did not become children, if the expander records them.
        open_nodes: `[B]`, number of open nodes of the search of each expanded node.
    """

    number: int
    expanded: Expanded
    offered: Offered
    rejected: Rejected | None
    open_nodes: Ints


class StopSearch(Exception):
    """Raised by an observer to end all searches; they are INTERRUPTED."""


class Observer:
    """Observes searches; subclass it and override the callbacks you need."""

    wants_rounds = True
    """Whether to call `on_round`."""

    def on_round(self, round: Round) -> None:
        """Called after a round. Raise `StopSearch` to end all searches."""

    def on_plan(self, index: int, result: Result) -> None:
        """Called when the plan of problem `index` was improved; `on_result` follows at the end."""

    def on_result(self, index: int, result: Result) -> None:
        """Called when the search of problem `index` ends, and its plan is final."""


class ResultObserver(Observer):
    """Calls a function with the index and result of every search that ends."""

    wants_rounds = False

    def __init__(self, function: Callable[[int, Result], None]) -> None:
        self._function = function

    def on_result(self, index: int, result: Result) -> None:
        """Passes the result on."""
        self._function(index, result)


def describe_expanded(table: NodeTable, problems: Ints, nodes: Ints, states: Grids) -> Expanded:
    """The nodes `[B]` of `problems` that a round expanded."""
    found = table.nodes[nodes]
    return Expanded(
        problems,
        nodes,
        states,
        found["h"].astype(np.float64),
        found["key"],
        found["parent"].astype(np.int64),
        found["steps"].astype(np.int64),
    )


def describe_offered(
    table: NodeTable, children: Children, edges: Edges, accepted: Bools
) -> Offered:
    """The children of a round, after their edges entered the table."""
    records = table.nodes
    return Offered(
        children.parents,
        edges.ids,
        children.states,
        children.kinds,
        children.lengths,
        children.log_probabilities,
        edges.log_pi,
        (records["depth"][edges.parents] + 1).astype(np.int64),
        (records["steps"][edges.parents] + children.lengths).astype(np.int64),
        records["h"][edges.ids].astype(np.float64),
        records["guessed"][edges.ids] > 0,
        edges.keys,
        children.tiers.astype(np.int64),
        edges.goals,
        accepted,
        np.zeros(len(accepted), dtype=np.bool_) if children.pending is None else children.pending,
    )
