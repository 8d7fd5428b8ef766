"""Exported graphs of the heuristic."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.heuristic.adapter import GRAPH
from hips.parts.heuristic.network import HeuristicNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: HeuristicNetwork) -> tuple[GraphSpec, ...]:
    """`heuristic`: states -> expected remaining steps."""
    return (GraphSpec(GRAPH, network, _inputs, ("distances",), quantised=True),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states}
