"""f(s, a) as a network."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.domains.base import GridSpec
from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, SymbolPlanes
from hips.parts.blocks.mixing import make_cell_scores, make_trunk
from hips.parts.blocks.relations import CopiedSymbols, log_of_sum
from hips.parts.dynamics.config import DynamicsConfig


class DynamicsNetwork(nn.Module):
    """f(s, a): scores of the next state's cells, relative to the current state.

    With `relations`, cells are also compared with that many places and may copy any other cell.
    """

    def __init__(self, shape: GridShape, trunk: TrunkConfig, relations: int = 0) -> None:
        super().__init__()
        shape.check_relations(relations)
        if relations and (shape.downsample > 1 or shape.border):
            raise ConfigError(
                "dynamics.relations lets single cells copy each other: it needs "
                "dynamics.trunk.downsample=1 and a domain without a border."
            )
        self.planes = SymbolPlanes(shape)
        self.num_actions = shape.num_actions
        inputs = shape.planes + shape.num_actions + relations
        self.trunk = make_trunk(shape, inputs, replace(trunk, same_symbols=False))
        self.cells = make_cell_scores(shape, trunk, trunk.channels)
        self.matches = shape.matches(relations)
        self.copied = CopiedSymbols(trunk.channels) if relations else None

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """Cell scores `[B, H, W, symbols]` after `actions` `[B]`."""
        planes = self.planes(states)
        chosen = functional.one_hot(actions, self.num_actions).to(planes.dtype)
        rows, columns = planes.shape[2], planes.shape[3]
        inputs = [planes, chosen[:, :, None, None].expand(-1, -1, rows, columns)]
        if self.matches is not None:
            inputs.append(self.matches(planes))
        features = self.trunk(torch.cat(inputs, dim=1))
        scores: Tensor = self.cells(features, states)
        if self.copied is None:
            return scores
        return log_of_sum(scores, self.copied(features, planes))


class DynamicsGraph(nn.Module):
    """f(s, a) as a grid of symbols."""

    def __init__(self, dynamics: DynamicsNetwork) -> None:
        super().__init__()
        self.dynamics = dynamics

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """The likeliest next states, uint8 `[B, H, W]`."""
        return self.dynamics(states, actions).argmax(dim=-1).to(torch.uint8)


def build(spec: GridSpec, config: DynamicsConfig, horizon: int) -> DynamicsNetwork:
    """The network of a configuration."""
    # An action changes only nearby cells, so no viewpoint is needed.
    shape = replace(GridShape.of(spec, config.trunk), anchors=())
    return DynamicsNetwork(shape, config.trunk, config.relations)
