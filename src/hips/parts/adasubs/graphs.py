"""Exported graphs of AdaSubS's generators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hips.models.runtime import Array
from hips.parts.adasubs.adapter import GRAPH, STAGES
from hips.parts.blocks.edits import EditNetwork
from hips.training.contract import Examples, GraphSpec


def graphs(network: EditNetwork) -> tuple[GraphSpec, ...]:
    """`adasubs`: states, partial subgoals and stages -> log-probabilities of edits."""
    return (GraphSpec(GRAPH, network, _inputs, ("edits",), quantised=True),)


def _inputs(examples: Examples) -> Mapping[str, Array]:
    return {
        "states": examples.states,
        "partials": examples.subgoals,
        "distances": np.arange(len(examples.states), dtype=np.int64) % STAGES,
    }
