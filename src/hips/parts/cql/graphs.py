"""Exported graphs of CQL."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.cql.adapter import GRAPH
from hips.parts.cql.network import QNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: QNetwork) -> tuple[GraphSpec, ...]:
    """`cql`: states -> Q-values of actions."""
    return (GraphSpec(GRAPH, network, _inputs, ("values",), quantised=True),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states}
