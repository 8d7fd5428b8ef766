"""A trained model as the components of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.domains.base import Actions, Bools, Domain, Grids
from hips.errors import ModelError
from hips.models.bundle import Bundle
from hips.models.runtime import Runtime
from hips.planner.components import Components
from hips.planner.protocols import Floats, Foresight, Proposals

DECODED_AT_ONCE = 1024
LEARNED_GAIN = 2.0
"""An action brings a state one step nearer at most; a learned h mostly says not much more."""


class _SharedPrior:
    """The prior network, run once for the two policies that read it: π_SG and π_BC."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._states: Grids | None = None
        self._outputs: tuple[Floats, Floats] | None = None
        self.calls = 1
        """Network evaluations that each row of the last batch cost: none if it was remembered."""

    def __call__(self, states: Grids) -> tuple[Floats, Floats]:
        """Log π_SG `[B, K]` and log π_BC `[B, A]`; the last batch is remembered."""
        self.calls = int(self._outputs is None or self._states is not states)
        if self._outputs is None or self.calls:
            codes, actions = self._runtime.prior(states)
            if np.isnan(codes).any() or np.isnan(actions).any():
                raise ModelError("The prior gave NaN: the model is damaged. Train it again.")
            self._states = states
            self._outputs = codes.astype(np.float64), actions.astype(np.float64)
        return self._outputs


@dataclass(frozen=True, slots=True)
class LearnedGenerator:
    """Decodes the codes of the VQ-VAE into subgoals: s_g = g(e_k, s), π_SG = p(e_k | s).

    Attributes:
        mass: the likeliest codes that together have this share of π_SG are decoded; 1 for all.
        temperature: log π_SG is divided by it once they are chosen; above 1 the prior is trusted
            less and the heuristic decides more.
    """

    domain: Domain
    runtime: Runtime
    prior: _SharedPrior
    mass: float = 1.0
    temperature: float = 1.0

    def propose(self, states: Grids) -> Proposals:
        """One target per state and code, as decoded; the expander sorts out illegal ones."""
        log_probabilities = self.prior(states)[0]
        order = np.argsort(-log_probabilities, axis=1, kind="stable")
        ordered = np.take_along_axis(log_probabilities, order, axis=1)
        parents, ranks = np.nonzero(self._wanted(ordered))
        codes = order[parents, ranks]
        targets = self._decode(states, parents, codes)
        decoded = np.bincount(parents, minlength=len(states))
        calls = decoded + self.prior.calls
        chosen = ordered[parents, ranks] / self.temperature
        return Proposals(parents, codes, chosen, targets, calls=calls)

    def _wanted(self, ordered: Floats) -> Bools:
        """Which of the codes, likeliest first, to decode: a code is, if those before lack mass."""
        if self.mass >= 1.0:
            return np.ones(ordered.shape, dtype=np.bool_)
        before = np.cumsum(np.exp(ordered), axis=1) - np.exp(ordered)
        wanted: Bools = before < self.mass
        return wanted

    def _decode(self, states: Grids, parents: Actions, codes: Actions) -> Grids:
        """Targets of ascending `parents` and their codes, in parts that fit into memory."""
        pieces = []
        for start in range(0, len(codes), DECODED_AT_ONCE):
            part = slice(start, start + DECODED_AT_ONCE)
            scores = self.runtime.decode(states, parents[part], codes[part])
            pieces.append(self.domain.decode(scores, states[parents[part]]))
        return np.concatenate(pieces)


@dataclass(frozen=True, slots=True)
class LearnedActions:
    """π_BC."""

    prior: _SharedPrior

    @property
    def calls(self) -> int:
        """Network evaluations per row of the last batch; the generator may have paid already."""
        return self.prior.calls

    def log_probabilities(self, states: Grids) -> Floats:
        """`[B, A]`."""
        return self.prior(states)[1]


@dataclass(frozen=True, slots=True)
class LearnedReach:
    """π(a | s, s_g)."""

    runtime: Runtime
    calls: int = 1

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """What it would do, and whether it believes in it."""
        actions, reachable = self.runtime.policy(states, subgoals)
        return Foresight(actions.astype(np.float64), reachable)


@dataclass(frozen=True, slots=True)
class LearnedHeuristic:
    """h(s)."""

    runtime: Runtime
    calls: int = 1
    gain: float | None = LEARNED_GAIN

    def distances(self, states: Grids) -> Floats:
        """`[B]`."""
        return self.runtime.heuristic(states).astype(np.float64)


@dataclass(frozen=True, slots=True)
class LearnedDynamics:
    """f_dyn(s, a)."""

    runtime: Runtime

    def step(self, states: Grids, actions: Actions) -> Grids:
        """`[B, H, W]`."""
        return self.runtime.dynamics(states, actions)


def learned_generator(domain: Domain, runtime: Runtime, mass: float = 1.0) -> LearnedGenerator:
    """The subgoals of a trained model, alone."""
    return LearnedGenerator(domain, runtime, _SharedPrior(runtime), mass)


def components(bundle: Bundle, mass: float = 1.0, temperature: float = 1.0) -> Components:
    """All components of a trained model."""
    runtime = bundle.runtime
    prior = _SharedPrior(runtime)
    return Components(
        LearnedGenerator(bundle.domain, runtime, prior, mass, temperature),
        LearnedReach(runtime),
        LearnedActions(prior),
        LearnedHeuristic(runtime),
        LearnedDynamics(runtime),
        bundle.horizon,
    )
