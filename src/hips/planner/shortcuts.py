"""Shorter plans: shortest paths through a growing graph of states around the best plan.

Several strategies grow the graph in turn. The first expands all states within one step of the plan,
then within two, and so on. The others are beam searches from the start, with a wider beam each
time. Each sees what the others have found, and every shorter path in the graph is a better plan.
The order of expansion does not depend on the clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hips.arrays import Bools, Ints32
from hips.planner.beams import Beams
from hips.planner.protocols import Heuristic
from hips.planner.state_graph import Path, StateGraph

FIRST_NODES = 50_000
"""Nodes that the first neighbourhood search adds; the number doubles every time."""


@dataclass(frozen=True, slots=True)
class Guide:
    """What guides beam searches.

    Attributes:
        heuristic: estimates the remaining steps.
        width: of the first beam; it doubles every time.
    """

    heuristic: Heuristic
    width: int = 16


def shortcuts(graph: StateGraph, best: Path, guides: Sequence[Guide] = ()) -> Iterator[Path | None]:
    """Works in short slices; yields a shorter path, or None, after each.

    Ends when the path is proved to be a shortest one.

    Raises:
        GraphFullError: the memory is used up.
    """
    neighbourhood = Neighbourhood(graph, best)
    beams = [(Beams(graph, guide.heuristic), guide.width) for guide in guides]
    factor = 1
    while True:
        enough = graph.num_nodes + factor * FIRST_NODES
        while graph.num_nodes < enough:
            yield neighbourhood.advance()
            if neighbourhood.is_exhausted:
                return
        for beam, width in beams:
            for _ in beam.search(neighbourhood.best, factor * width):
                yield neighbourhood.follow()
        factor *= 2


class Neighbourhood:
    """Expands the states around a path, nearest first.

    Attributes:
        best: the shortest path so far.
        is_exhausted: whether no shorter path exists.
    """

    def __init__(self, graph: StateGraph, best: Path) -> None:
        self.graph, self.best = graph, best
        self.is_exhausted = False
        self._layers: dict[int, list[Ints32]] = {}

    def follow(self) -> Path | None:
        """Moves to a shorter path, if the graph has one now; returns it."""
        found = self.graph.best()
        if found is None or len(found) >= len(self.best):
            return None
        self.best, self._layers = found, {}
        return found

    def advance(self) -> Path | None:
        """Expands some nodes; returns a shorter path if there is one now."""
        if not self._layers:
            self._look_around()
        if self.is_exhausted:
            return None
        distance = min(self._layers)
        chunk = self._take(distance)
        before = self.graph.num_nodes
        if len(chunk):
            self.graph.expand(chunk)
        fresh = np.arange(before, self.graph.num_nodes, dtype=np.int32)
        if len(fresh):
            self._layers.setdefault(distance + 1, []).append(fresh)
        return self.follow()

    def _take(self, distance: int) -> Ints32:
        """Takes some nodes of a layer that may lie on a shorter path."""
        waiting = self._layers[distance]
        nodes, rest = np.split(waiting.pop(), [self.graph.chunk])
        if len(rest):
            waiting.append(rest)
        if not waiting:
            del self._layers[distance]
        return nodes[self._is_useful(nodes) & ~self.graph.is_expanded(nodes)]

    def _look_around(self) -> None:
        """Sorts the unexpanded nodes by their distance from the path.

        On any shorter path, the first unexpanded node has a shortest known path of at most
        `len(best) - 2` steps; without such nodes, there is no shorter path.
        """
        nodes, distances = self.graph.near(self.best.nodes)
        useful = self._is_useful(nodes)
        nodes, distances = nodes[useful], distances[useful]
        for distance in np.unique(distances).tolist():
            self._layers[distance] = [nodes[distances == distance]]
        self.is_exhausted = not self._layers

    def _is_useful(self, nodes: Ints32) -> Bools:
        return np.asarray(self.graph.links.steps[nodes] <= len(self.best) - 2)
