"""Familiarity as a network."""

from __future__ import annotations

from torch import Tensor, nn

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_trunk
from hips.parts.familiarity.config import FamiliarityConfig


class FamiliarityNetwork(nn.Module):
    """The log-odds that a state is a demonstrated one, not the end of a random walk."""

    def __init__(self, shape: GridShape, trunk: TrunkConfig) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        self.trunk = make_trunk(shape, shape.planes, trunk)
        self.readout = Readout(trunk.channels, 1)

    def forward(self, states: Tensor) -> Tensor:
        """Log-odds `[B]` of states `[B, H, W]`."""
        found: Tensor = self.readout(self.trunk(self.planes(states))).squeeze(1)
        return found


def build(spec: GridSpec, config: FamiliarityConfig, horizon: int) -> FamiliarityNetwork:
    """The network of a configuration."""
    return FamiliarityNetwork(GridShape.of(spec, config.trunk), config.trunk)
