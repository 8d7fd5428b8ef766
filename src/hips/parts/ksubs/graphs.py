"""Exported graphs of kSubS's generator."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.blocks.edits import EditNetwork
from hips.parts.ksubs.adapter import GRAPH
from hips.training.contract import Examples, GraphSpec


def graphs(network: EditNetwork) -> tuple[GraphSpec, ...]:
    """`ksubs`: states and partial subgoals -> log-probabilities of edits."""
    return (GraphSpec(GRAPH, network, _inputs, ("edits",), quantised=True),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states, "partials": examples.subgoals}
