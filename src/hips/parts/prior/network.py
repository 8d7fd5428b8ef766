"""π_SG and π_BC as one network."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_trunk
from hips.parts.prior.config import PriorConfig


class PriorNetwork(nn.Module):
    """π_SG(e | s) and π_BC(a | s): two heads on one trunk (eq:pi)."""

    def __init__(self, shape: GridShape, trunk: TrunkConfig, num_codes: int) -> None:
        super().__init__()
        self.num_codes = num_codes
        self.planes = SymbolPlanes(shape)
        self.trunk = make_trunk(shape, shape.planes, trunk)
        self.codes = Readout(trunk.channels, num_codes)
        self.actions = Readout(trunk.channels, shape.num_actions)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of codes `[B, K]` and of actions `[B, A]`."""
        features = self.trunk(self.planes(states))
        return (
            functional.log_softmax(self.codes(features), dim=-1),
            functional.log_softmax(self.actions(features), dim=-1),
        )


def build(spec: GridSpec, config: PriorConfig, horizon: int) -> PriorNetwork:
    """The network of a configuration."""
    return PriorNetwork(GridShape.of(spec, config.trunk), config.trunk, config.num_codes)
