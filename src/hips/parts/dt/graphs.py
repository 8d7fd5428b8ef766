"""Exported graphs of the Decision Transformer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from hips.models.runtime import Array
from hips.parts.dt.adapter import ACTIONS, CONTEXT, STATES
from hips.parts.dt.network import DecisionTransformer, StateGraph
from hips.training.contract import Examples, GraphSpec


def graphs(network: DecisionTransformer) -> tuple[GraphSpec, ...]:
    """`dt_states`: states -> features; `dt`: features, actions and steps to go -> next actions."""
    outputs = ("features", "typical_steps")
    sequences = partial(_sequences, network.width)
    return (
        GraphSpec(STATES, StateGraph(network), _states, outputs, quantised=True),
        GraphSpec(ACTIONS, network, sequences, ("log_probabilities",)),
    )


def _states(examples: Examples) -> Mapping[str, Array]:
    return {"states": examples.states}


def _sequences(width: int, examples: Examples) -> Mapping[str, Array]:
    """Any features will do: this graph is traced, not calibrated."""
    count = len(examples.states)
    waves = np.cos(np.arange(count * CONTEXT * width, dtype=np.float32))
    actions = np.arange(count * CONTEXT, dtype=np.int64) % examples.num_actions
    to_go = np.tile(np.arange(CONTEXT, 0, -1, dtype=np.float32), (count, 1))
    return {
        "features": waves.reshape(count, CONTEXT, width),
        "actions": actions.reshape(count, CONTEXT),
        "steps_to_go": to_go,
    }
