"""The networks as the functions of a runtime: what is exported to ONNX and what torch runs itself.

The names of the arguments are the names of the graphs' inputs, see `docs/architecture.md`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.models.networks.assembly import Networks
from hips.models.networks.heads import Detector, Dynamics, ReachPolicy
from hips.models.networks.vqvae import SubgoalModel


class PolicyGraph(nn.Module):
    """π(a_1 … a_C | s, s_g), and whether it will get there."""

    def __init__(self, policy: ReachPolicy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, states: Tensor, subgoals: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities `[B, C, A]` and the probabilities `[B]` of getting there."""
        log_probabilities, reachable = self.policy.foresee(states, subgoals)
        return log_probabilities, reachable.sigmoid()


class DecoderGraph(nn.Module):
    """g(e, s): the trunk once per state, then a short head per code."""

    codes: Tensor

    def __init__(self, model: SubgoalModel) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("codes", model.code_vectors.detach().clone())

    def forward(self, states: Tensor, parents: Tensor, codes: Tensor) -> Tensor:
        """Cell scores `[M, H, W, symbols]`."""
        features = self.model.features(states)
        return self.model.decode(features[parents], self.codes[codes], states[parents])


class EncoderGraph(nn.Module):
    """The code of the step from a state to its subgoal."""

    codes: Tensor

    def __init__(self, model: SubgoalModel) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("codes", functional.normalize(model.code_vectors.detach(), dim=-1))

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """The nearest code's index `[B]`."""
        return (self.model.encode(states, subgoals) @ self.codes.T).argmax(dim=-1)


class DynamicsGraph(nn.Module):
    """f(s, a) as a grid of symbols."""

    def __init__(self, dynamics: Dynamics) -> None:
        super().__init__()
        self.dynamics = dynamics

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """The likeliest next states, uint8 `[B, H, W]`."""
        return self.dynamics(states, actions).argmax(dim=-1).to(torch.uint8)


class DetectorGraph(nn.Module):
    """The detector's embeddings and its bias for each distance."""

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys `[B, E]`, bias `[H]`."""
        queries, keys, _ = self.detector.embed(states)
        return queries, keys, self.detector.distance_bias.clone()


def graph_modules(networks: Networks) -> dict[str, nn.Module]:
    """The modules behind the graphs of a bundle, by the graphs' names.

    They share the networks' weights but copy the codebook: make them when it is final.
    """
    return {
        "policy": PolicyGraph(networks.policy),
        "encoder": EncoderGraph(networks.subgoals),
        "prior": networks.prior,
        "decoder": DecoderGraph(networks.subgoals),
        "heuristic": networks.heuristic,
        "dynamics": DynamicsGraph(networks.dynamics),
        "detector": DetectorGraph(networks.detector),
    }
