"""Q(s, a) as a network."""

from __future__ import annotations

from torch import Tensor, nn

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_trunk
from hips.parts.cql.config import CqlConfig


class QNetwork(nn.Module):
    """The values of all actions in a state."""

    def __init__(self, shape: GridShape, trunk: TrunkConfig) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        self.trunk = make_trunk(shape, shape.planes, trunk)
        self.readout = Readout(trunk.channels, shape.num_actions)

    def forward(self, states: Tensor) -> Tensor:
        """Q-values `[B, A]` of states `[B, H, W]`."""
        values: Tensor = self.readout(self.trunk(self.planes(states)))
        return values


def build(spec: GridSpec, config: CqlConfig, horizon: int) -> QNetwork:
    """The network of a configuration."""
    return QNetwork(GridShape.of(spec, config.trunk), config.trunk)
