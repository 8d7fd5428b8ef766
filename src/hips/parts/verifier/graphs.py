"""Exported graphs of the verifier."""

from __future__ import annotations

from collections.abc import Mapping

from hips.models.runtime import Array
from hips.parts.verifier.adapter import GRAPH
from hips.parts.verifier.network import VerifierNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: VerifierNetwork) -> tuple[GraphSpec, ...]:
    """`verifier`: states and subgoals -> probabilities of arriving."""
    return (GraphSpec(GRAPH, network, _inputs, ("probabilities",), quantised=True),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states, "subgoals": examples.subgoals}
