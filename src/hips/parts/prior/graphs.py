"""Exported graphs of the prior."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.prior.adapter import GRAPH
from hips.parts.prior.network import PriorNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: PriorNetwork) -> tuple[GraphSpec, ...]:
    """`prior`: states -> log-probabilities of codes and of actions."""
    return (GraphSpec(GRAPH, network, _inputs, ("codes", "actions"), quantised=True),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states}
