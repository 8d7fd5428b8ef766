"""Exported graphs of the subgoal generator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hips.models.runtime import Array
from hips.parts.subgoals.adapter import DECODER, ENCODER
from hips.parts.subgoals.network import DecoderGraph, EncoderGraph, SubgoalNetwork
from hips.training.contract import Examples, GraphSpec

STATES = 2
"""Number of states whose codes are all decoded in example inputs."""


def graphs(network: SubgoalNetwork) -> tuple[GraphSpec, ...]:
    """`decoder`: states and codes -> cell scores; `encoder`: states and subgoals -> codes.

    They copy the codebook, so create them once it is final.
    """
    num_codes = len(network.code_vectors)

    def decoded(examples: Examples) -> Mapping[str, Array]:
        few = examples.states[:STATES]
        parents = np.repeat(np.arange(len(few)), num_codes)
        codes = np.tile(np.arange(num_codes), len(few))
        return {"states": few, "parents": parents, "codes": codes}

    def encoded(examples: Examples) -> Mapping[str, Array]:
        return {"states": examples.states, "subgoals": examples.subgoals}

    axes = {"parents": "decoded", "codes": "decoded"}
    return (
        GraphSpec(DECODER, DecoderGraph(network), decoded, ("scores",), axes, quantised=True),
        GraphSpec(ENCODER, EncoderGraph(network), encoded, ("codes",)),
    )
