"""The verifier as a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_pair_trunk
from hips.parts.verifier.config import VerifierConfig


class VerifierNetwork(nn.Module):
    """The probability of reaching a subgoal from a state."""

    def __init__(self, shape: GridShape, trunk: TrunkConfig) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        self.trunk = make_pair_trunk(shape, trunk)
        self.readout = Readout(trunk.channels, 1)

    def logits(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """Logits `[B]` for states and subgoals `[B, H, W]`."""
        planes = torch.cat([self.planes(states), self.planes(subgoals, states)], dim=1)
        found: Tensor = self.readout(self.trunk(planes)).squeeze(1)
        return found

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """Probabilities `[B]`."""
        return self.logits(states, subgoals).sigmoid()


def build(spec: GridSpec, config: VerifierConfig, horizon: int) -> VerifierNetwork:
    """The network of a configuration."""
    return VerifierNetwork(GridShape.of(spec, config.trunk), config.trunk)
