"""Exported graphs of the detector."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.detector.adapter import GRAPH
from hips.parts.detector.network import DetectorGraph, DetectorNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: DetectorNetwork) -> tuple[GraphSpec, ...]:
    """`detector`: states -> queries, keys and the bias of each distance."""
    outputs = ("queries", "keys", "distance_bias")
    return (GraphSpec(GRAPH, DetectorGraph(network), _inputs, outputs),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states}
