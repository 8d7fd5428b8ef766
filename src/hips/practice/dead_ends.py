"""Exhausting small spaces: exact distances and proven dead ends, without an expert."""

from __future__ import annotations

import numpy as np

from hips.arrays import Grid
from hips.data.labels import DEAD_END
from hips.domains.base import Domain
from hips.planner.state_graph import GraphFullError, StateGraph

MAX_BYTES = 1 << 28


def exhaust(domain: Domain, state: Grid, most: int) -> int | None:
    """Steps from `state` to the nearest goal, or `DEAD_END`; None beyond about `most` states.

    A breadth-first search by the true rules: if all reachable states are known and none is a
    goal, there is no plan.
    """
    graph = StateGraph(domain, state, MAX_BYTES)
    known = 0
    try:
        while known < graph.num_nodes <= most:
            if (path := graph.best()) is not None:
                return len(path)
            layer = np.arange(known, graph.num_nodes, dtype=np.int32)
            known = graph.num_nodes
            graph.expand_new(layer)
    except GraphFullError:
        return None
    return DEAD_END if graph.num_nodes <= most else None
