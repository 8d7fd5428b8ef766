"""Beam searches through a graph of states, guided by a heuristic.

Many domains have moves that can be undone at once, such as walking, and events that cannot, such
as pushing a box. There a layer of the beam is one event further than the last: all events near a
state are found by the rules alone, and the heuristic judges only their outcomes. Where everything
can be undone, a layer is one step further.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hips.arrays import Bools, Floats32, Ints32
from hips.errors import ContractError
from hips.planner.graph_kernels import next_layer, split_layer
from hips.planner.protocols import Heuristic
from hips.planner.state_graph import Path, Slices, StateGraph

EVENTS_PER_STATE = 4
"""Events to look for, per state of a beam."""
NODES_PER_STATE = 512
"""States to look at for events, per state of a beam."""
ROWS_PER_SLICE = 128
"""States that the heuristic estimates at once: the clock is looked at in between."""


class Beams:
    """Beam searches from the start of a graph.

    Args:
        graph: grows with every search.
        heuristic: estimates the remaining steps.
    """

    def __init__(self, graph: StateGraph, heuristic: Heuristic) -> None:
        self.graph, self.heuristic = graph, heuristic
        self._h: Floats32 = np.empty(graph.capacity, dtype=np.float32)
        self._has_h: Bools = np.zeros(graph.capacity, dtype=np.bool_)
        self._seen: Bools = np.zeros(graph.capacity, dtype=np.bool_)
        self._has_events = True

    def search(self, best: Path, width: int) -> Iterator[None]:
        """One search, as long as it may find a path shorter than `best`.

        Works in short slices and yields after each; the graph knows the shortest path.
        """
        layer = np.zeros(1, dtype=np.int32)
        self._seen = np.zeros(self.graph.capacity, dtype=np.bool_)
        for depth in range(1, len(best)):
            self._seen[layer] = True
            children = yield from self._next(layer, depth)
            yield
            best = self.graph.best() or best
            useful = self.graph.links.steps[children] < len(best) - 1
            children = children[useful & ~self.graph.goals[children]]
            yield from self._evaluate(children)
            layer = self._narrow(children, width)
            if not len(layer):
                return

    def _next(self, layer: Ints32, depth: int) -> Slices[Ints32]:
        """The outcomes of events near a layer; its successors where there are none."""
        if self._has_events:
            events = yield from self._events(layer)
            self._has_events = depth > 1 or len(events) > 0
            if self._has_events:
                return events
            self._seen[:] = False
            self._seen[layer] = True
        yield from self.graph.expand_in_slices(layer)
        return next_layer(self.graph.links.successors, layer, self._seen)

    def _events(self, layer: Ints32) -> Slices[Ints32]:
        """States after the nearest steps that cannot be undone at once."""
        graph = self.graph
        outcomes: list[Ints32] = []
        wanted, allowed = EVENTS_PER_STATE * len(layer), NODES_PER_STATE * len(layer)
        while len(layer) and wanted > 0 and allowed > 0:
            yield from graph.expand_in_slices(layer)
            beyond = next_layer(graph.links.successors, layer, self._seen)
            yield from graph.expand_in_slices(beyond)
            layer, found = split_layer(graph.links.successors, layer, self._seen)
            outcomes.append(found)
            wanted, allowed = wanted - len(found), allowed - len(layer)
        return np.concatenate([np.zeros(0, dtype=np.int32), *outcomes])

    def _narrow(self, nodes: Ints32, width: int) -> Ints32:
        """The nodes of the shortest expected plans."""
        expected = self.graph.links.steps[nodes] + self._h[nodes]
        return nodes[np.argsort(expected, kind="stable")[:width]]

    def _evaluate(self, nodes: Ints32) -> Slices[None]:
        """Estimates nodes, each once."""
        new = nodes[~self._has_h[nodes]]
        for first in range(0, len(new), ROWS_PER_SLICE):
            rows = new[first : first + ROWS_PER_SLICE]
            values = np.asarray(self.heuristic.distances(self.graph.states(rows)))
            if values.shape != rows.shape:
                raise ContractError(
                    f"a heuristic must return [{len(rows)}], got {list(values.shape)}"
                )
            self._h[rows] = np.nan_to_num(values)
            self._has_h[rows] = True
            yield
