"""Exported graphs of the dynamics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hips.models.runtime import Array
from hips.parts.dynamics.adapter import GRAPH
from hips.parts.dynamics.network import DynamicsGraph, DynamicsNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: DynamicsNetwork) -> tuple[GraphSpec, ...]:
    """`dynamics`: states and actions -> next states."""
    return (GraphSpec(GRAPH, DynamicsGraph(network), _inputs, ("next_states",)),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    actions = np.arange(len(examples.states)) % examples.num_actions
    return {"states": examples.states, "actions": actions}
