"""q(s_j | s_i) as a network."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from hips.arrays import Ints
from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_pair_trunk
from hips.parts.detector.config import DetectorConfig
from hips.training.segments import later_states

ABSENT = -1e9
"""Logit of a state beyond the end of its trajectory."""


class DetectorNetwork(nn.Module):
    """q(s_j | s_i): the distribution of a trajectory's next subgoal.

    A small convolutional network sees both states of a pair; a softmax over the next H states
    turns its scores into probabilities.
    """

    def __init__(self, shape: GridShape, trunk: TrunkConfig, horizon: int) -> None:
        super().__init__()
        self.horizon = horizon
        self.planes = SymbolPlanes(shape)
        plain = replace(trunk, attention=0, same_symbols=False)
        self.trunk = make_pair_trunk(shape, plain)
        self.readout = Readout(trunk.channels, 1)

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """Scores `[B]` of pairs, both `[B, H, W]`."""
        planes = torch.cat([self.planes(states), self.planes(subgoals, states)], dim=1)
        scores: Tensor = self.readout(self.trunk(planes)).squeeze(1)
        return scores

    def log_q(self, states: Tensor, offsets: Ints) -> Tensor:
        """Log q(s_j | s_i) `[M, H]` of whole trajectories, for the next H states of each."""
        positions, exists = later_states(offsets, self.horizon)
        later = torch.from_numpy(positions).to(states.device)
        possible = torch.from_numpy(exists).to(states.device)
        rows, columns = torch.nonzero(possible, as_tuple=True)
        scores = self(states[rows], states[later[rows, columns]])
        logits = torch.full(possible.shape, ABSENT, dtype=scores.dtype, device=states.device)
        return logits.index_put((rows, columns), scores).log_softmax(dim=1)


def build(spec: GridSpec, config: DetectorConfig, horizon: int) -> DetectorNetwork:
    """The network of a configuration."""
    return DetectorNetwork(GridShape.of(spec, config.trunk), config.trunk, horizon)
