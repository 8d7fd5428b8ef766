"""√LTS: every expanded node starts a Levin tree search of its own, with a weight.

The key of a node is the least logarithm of λ/π(n; t) / w_t over its strict ancestors t, where
λ/π(n; t) is the sum of 1/π(m; t) over the path from t to n, both included. The heuristic rerooter
gives the root weight 1 and every other node w_t = exp(−α h(t) / h(root)): states that look close
to a goal get a larger share of the search. Weights are fixed when a node is expanded, so a key
never changes; it costs one step per ancestor.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hips.arrays import Floats, Ints
from hips.planner.heaps import NONE, Nodes
from hips.planner.nodes import ROOT, NodeTable


class Rerooter:
    """The heuristic rerooter of the searches of a node table.

    Args:
        table: holds the nodes; it must keep weights.
        strength: α; 0 gives every node the weight of the root.
    """

    def __init__(self, table: NodeTable, strength: float) -> None:
        self.table, self.strength = table, strength
        self._root_h = np.ones(table.num_slots)

    def weigh(self, ids: Ints) -> None:
        """Fixes the weights of nodes that are about to be expanded; their h must be known."""
        found = self.table.nodes[ids]
        h, slots, is_root = found["h"].astype(np.float64), found["slot"], found["kind"] == ROOT
        self._root_h[slots[is_root]] = np.maximum(h[is_root], 1.0)
        weights = -self.strength * h / self._root_h[slots]
        self.table.log_weights[ids] = np.where(is_root, 0.0, weights)

    def keys(self, parents: Ints, log_pi: Floats) -> Floats:
        """Keys `[M]` of children of expanded nodes `parents`, with their log π."""
        keys: Floats = rerooted_keys(self.table.nodes, self.table.log_weights, parents, log_pi)
        return keys


@njit(cache=True, nogil=True)
def rerooted_keys(nodes: Nodes, log_weights: Floats, parents: Ints, log_pi: Floats) -> Floats:
    """The least log of λ/π(n; t) / w_t over the ancestors t of each child.

    On the way up, λ/π(n; parent of t) = 1 + λ/π(n; t) / p for the probability p of t.
    """
    keys = np.empty(parents.shape[0])
    for m in range(parents.shape[0]):
        ancestor = parents[m]
        below = log_pi[m]
        cost = 0.0
        best = np.inf
        while ancestor != NONE:
            cost = np.logaddexp(0.0, cost - (below - nodes[ancestor].log_pi))
            best = min(best, cost - log_weights[ancestor])
            below = nodes[ancestor].log_pi
            ancestor = nodes[ancestor].parent
        keys[m] = best
    return keys
