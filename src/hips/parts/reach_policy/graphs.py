"""Exported graphs of the reach policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hips.models.runtime import Array
from hips.parts.reach_policy.adapter import GRAPH
from hips.parts.reach_policy.network import PolicyGraph
from hips.training.contract import Examples, GraphSpec

if TYPE_CHECKING:
    from hips.parts.reach_policy.network import ReachPolicyNetwork


def graphs(network: ReachPolicyNetwork) -> tuple[GraphSpec, ...]:
    """`policy`: states and subgoals -> log-probabilities of actions, probability of arriving."""
    outputs = ("log_probabilities", "reachable")
    return (GraphSpec(GRAPH, PolicyGraph(network), _inputs, outputs, quantised=True),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states, "subgoals": examples.subgoals}
