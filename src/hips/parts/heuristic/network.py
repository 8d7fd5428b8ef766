"""h(s) as a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_trunk
from hips.parts.heuristic.config import HeuristicConfig

LEAST_CHANCE = 1e-6
"""Lower limit of the probability that a state is alive."""


class HeuristicNetwork(nn.Module):
    """h(s): the mean of a distribution over remaining steps, plus a penalty for likely dead ends.

    Dead ends are trained as the largest distance. Their mean alone, e.g. 128 steps, would look to
    a search like a long path worth trying. A state that is more likely dead than alive therefore
    costs another `max_distance` steps each time its probability of being alive falls by a factor
    e: the search expands it only after the states that may lead on, but does not discard it.

    Attributes:
        centres: the distance of each bin, `[bins]`.
        deviation: standard deviation of the Gaussian targets around a distance.
        living_bins: number of leading bins outside the target of a dead end.
    """

    centres: Tensor

    def __init__(
        self,
        shape: GridShape,
        trunk: TrunkConfig,
        max_distance: int,
        num_bins: int = 128,
    ) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        self.trunk = make_trunk(shape, shape.planes, trunk)
        self.readout = Readout(trunk.channels, num_bins)
        self.max_distance = max_distance
        centres = torch.linspace(0.0, float(max_distance), num_bins)
        self.register_buffer("centres", centres, persistent=False)
        self.deviation = max(1.0, max_distance / (num_bins - 1))
        self.living_bins = int((centres < max_distance - 4 * self.deviation).sum())

    def logits(self, states: Tensor) -> Tensor:
        """Log-probabilities `[B, bins]` of the remaining distance."""
        return functional.log_softmax(self.readout(self.trunk(self.planes(states))), dim=-1)

    def forward(self, states: Tensor) -> Tensor:
        """Expected remaining low-level steps `[B]`, with the penalty for likely dead ends."""
        chances = self.logits(states).exp()
        alive = chances[:, : self.living_bins].sum(dim=-1).clamp(LEAST_CHANCE, 0.5)
        return (chances * self.centres).sum(dim=-1) - self.max_distance * (2 * alive).log()


def build(spec: GridSpec, config: HeuristicConfig, horizon: int) -> HeuristicNetwork:
    """The network of a configuration."""
    shape = GridShape.of(spec, config.trunk)
    return HeuristicNetwork(shape, config.trunk, config.max_distance, config.num_bins)
