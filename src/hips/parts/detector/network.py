"""q(s_j | s_i) as a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes, Trunk
from hips.parts.detector.config import DetectorConfig


class DetectorNetwork(nn.Module):
    """q(s_j | s_i): the distribution of a trajectory's next subgoal, with a value head.

    Every state of a trajectory is embedded once; the score of a pair is the dot product of its
    embeddings plus a bias for its distance.
    """

    def __init__(self, shape: GridShape, trunk: TrunkConfig, horizon: int, width: int = 64) -> None:
        super().__init__()
        self.horizon = horizon
        self.width = width
        self.planes = SymbolPlanes(shape)
        self.trunk = Trunk(shape, shape.planes, trunk.channels, trunk.blocks)
        self.readout = Readout(trunk.channels, 2 * width + 1)
        self.distance_bias = nn.Parameter(torch.zeros(horizon))

    def embed(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States `[M, H, W]` -> queries `[M, E]`, keys `[M, E]`, values `[M]`."""
        joint = self.readout(self.trunk(self.planes(states)))
        query, key, value = joint.split([self.width, self.width, 1], dim=1)
        return query, key, value.squeeze(1)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Logits `[B, H]` of the next H states, from queries `[B, E]` and keys `[B, H, E]`."""
        product = (queries.unsqueeze(1) * keys).sum(dim=-1) / self.width**0.5
        return product + self.distance_bias[: keys.shape[1]]


class DetectorGraph(nn.Module):
    """The detector's embeddings and its bias for each distance."""

    def __init__(self, detector: DetectorNetwork) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys `[B, E]`, bias `[H]`."""
        queries, keys, _ = self.detector.embed(states)
        return queries, keys, self.detector.distance_bias.clone()


def build(spec: GridSpec, config: DetectorConfig, horizon: int) -> DetectorNetwork:
    """The network of a configuration."""
    return DetectorNetwork(GridShape.of(spec, config.trunk), config.trunk, horizon)
