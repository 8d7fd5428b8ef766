"""Exported graphs of familiarity."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.familiarity.adapter import GRAPH
from hips.parts.familiarity.network import FamiliarityNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: FamiliarityNetwork) -> tuple[GraphSpec, ...]:
    """`familiarity`: states -> log-odds."""
    return (GraphSpec(GRAPH, network, _inputs, ("log_odds",)),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states}
