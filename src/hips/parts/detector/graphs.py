"""Exported graphs of the detector."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.detector.adapter import GRAPH
from hips.parts.detector.network import DetectorNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: DetectorNetwork) -> tuple[GraphSpec, ...]:
    """`detector`: states, subgoals -> scores."""
    return (GraphSpec(GRAPH, network, _inputs, ("scores",)),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states, "subgoals": examples.subgoals}
