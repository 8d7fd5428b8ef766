"""π(a_1 … a_C | s, s_g) as a network."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_pair_trunk
from hips.parts.reach_policy.config import ReachPolicyConfig


class ReachPolicyNetwork(nn.Module):
    """The next C actions towards a subgoal, in one pass.

    A second head predicts whether the policy arrives: many decoded subgoals are unreachable.
    """

    def __init__(self, shape: GridShape, trunk: TrunkConfig, chunk: int) -> None:
        super().__init__()
        self.chunk, self.num_actions = chunk, shape.num_actions
        self.planes = SymbolPlanes(shape)
        self.trunk = make_pair_trunk(shape, replace(trunk, attention=0, same_symbols=False))
        self.readout = Readout(trunk.channels, chunk * shape.num_actions)
        self.reachable = Readout(trunk.channels, 1)

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """Log-probabilities `[B, C, A]` for states and subgoals `[B, H, W]`."""
        return self._actions(self._features(states, subgoals))

    def foresee(self, states: Tensor, subgoals: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities `[B, C, A]` and the logits `[B]` of arriving."""
        features = self._features(states, subgoals)
        return self._actions(features), self.reachable(features).squeeze(1)

    def _features(self, states: Tensor, subgoals: Tensor) -> Tensor:
        planes = torch.cat([self.planes(states), self.planes(subgoals, states)], dim=1)
        features: Tensor = self.trunk(planes)
        return features

    def _actions(self, features: Tensor) -> Tensor:
        logits = self.readout(features).view(-1, self.chunk, self.num_actions)
        return functional.log_softmax(logits, dim=-1)


class PolicyGraph(nn.Module):
    """The exported module: probabilities of actions and of arriving."""

    def __init__(self, policy: ReachPolicyNetwork) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, states: Tensor, subgoals: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities `[B, C, A]` and the probabilities `[B]` of arriving."""
        log_probabilities, reachable = self.policy.foresee(states, subgoals)
        return log_probabilities, reachable.sigmoid()


def build(spec: GridSpec, config: ReachPolicyConfig, horizon: int) -> ReachPolicyNetwork:
    """The network of a configuration."""
    return ReachPolicyNetwork(GridShape.of(spec, config.trunk), config.trunk, config.chunk)
