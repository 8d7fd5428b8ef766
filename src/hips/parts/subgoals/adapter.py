"""The subgoal generator for the planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hips.arrays import Bools, Floats, Grids, Ints, Scores
from hips.domains.base import Domain
from hips.models.runtime import GraphRuntime, check_outputs, joined
from hips.planner.protocols import ActionPolicy, Proposals, calls_of

DECODER, ENCODER = "decoder", "encoder"
DECODED_AT_ONCE = 1024


class CodePrior(ActionPolicy, Protocol):
    """π_SG over codes and π_BC over actions, from one pass of a network."""

    def evaluate(self, states: Grids) -> tuple[Floats, Floats]:
        """Log π_SG `[B, K]` and log π_BC `[B, A]`."""
        ...


def decode(
    runtime: GraphRuntime,
    states: Grids,
    parents: Ints,
    codes: Ints,
    num_symbols: int | None = None,
) -> Scores:
    """Cell scores `[M, H, W, symbols]` of the subgoals `codes[m]` of `states[parents[m]]`.

    Each thread encodes only the states of its own rows, which are few if parents ascend.
    """
    shapes = ((*states.shape[1:], num_symbols),)

    def part(rows: slice) -> Scores:
        own = parents[rows]
        first, last = own.min(initial=len(states)), own.max(initial=-1)
        inputs = {"states": states[first : last + 1], "parents": own - first, "codes": codes[rows]}
        outputs = runtime.call(DECODER, inputs)
        check_outputs(DECODER, outputs, shapes, len(own))
        scores: Scores = outputs[0]
        return scores

    return joined(runtime.share(part, len(codes)))


@dataclass(frozen=True, slots=True)
class VqGenerator:
    """Decodes the codes of the VQ-VAE into subgoals: s_g = g(e_k, s), π_SG = p(e_k | s).

    Attributes:
        domain: decodes cell scores into grids.
        runtime: the model's graphs.
        prior: π_SG, and π_BC of the same pass.
        top_p: decodes the likeliest codes that together have this share of π_SG; 1 for all.
        temperature: divides log π_SG after the choice of codes.
    """

    domain: Domain
    runtime: GraphRuntime
    prior: CodePrior
    top_p: float = 1.0
    temperature: float = 1.0

    @property
    def action_policy(self) -> ActionPolicy:
        """The policy whose values `propose` returns along with the subgoals."""
        return self.prior

    def propose(self, states: Grids) -> Proposals:
        """One decoded target per state and code; the expander drops illegal ones."""
        log_probabilities, log_actions = self.prior.evaluate(states)
        order = np.argsort(-log_probabilities, axis=1, kind="stable")
        ordered = np.take_along_axis(log_probabilities, order, axis=1)
        parents, ranks = np.nonzero(self._wanted(ordered))
        codes = order[parents, ranks]
        targets = self._decode(states, parents, codes)
        decoded = np.bincount(parents, minlength=len(states))
        chosen = ordered[parents, ranks] / self.temperature
        return Proposals(
            parents,
            codes,
            chosen,
            targets,
            calls=decoded + calls_of(self.prior),
            action_log_probabilities=log_actions,
        )

    def _wanted(self, ordered: Floats) -> Bools:
        """Which codes, likeliest first, to decode: those preceded by less than top-p."""
        if self.top_p >= 1.0:
            return np.ones(ordered.shape, dtype=np.bool_)
        before = np.cumsum(np.exp(ordered), axis=1) - np.exp(ordered)
        wanted: Bools = before < self.top_p
        return wanted

    def _decode(self, states: Grids, parents: Ints, codes: Ints) -> Grids:
        """Targets of ascending `parents` and their codes, in batches that fit into memory."""
        pieces, num_symbols = [], self.domain.spec.num_symbols
        for start in range(0, len(codes), DECODED_AT_ONCE):
            part = slice(start, start + DECODED_AT_ONCE)
            scores = decode(self.runtime, states, parents[part], codes[part], num_symbols)
            pieces.append(self.domain.decode(scores, states[parents[part]]))
        return np.concatenate(pieces)
