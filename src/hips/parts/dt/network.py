"""The Decision Transformer as a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.domains.base import GridSpec
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_trunk
from hips.parts.dt.adapter import CONTEXT
from hips.parts.dt.config import DecisionTransformerConfig

TOKENS = 3
"""Tokens per time step: the return to go, the state and the action."""


class CausalBlock(nn.Module):
    """A transformer layer in which a token sees itself and earlier ones."""

    def __init__(self, config: DecisionTransformerConfig) -> None:
        super().__init__()
        width = config.width
        self.heads, self.dropout = config.heads, nn.Dropout(config.dropout)
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """`[B, T, width]` -> `[B, T, width]`."""
        batch, length, width = tokens.shape
        joint = self.project_in(self.first_norm(tokens))
        joint = joint.view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed = self.project_out(mixed.transpose(1, 2).reshape(batch, length, width))
        tokens = tokens + self.dropout(mixed)
        return tokens + self.dropout(self.mlp(self.second_norm(tokens)))


class DecisionTransformer(nn.Module):
    """The next action after each of `CONTEXT` time steps; a return to go counts steps.

    Attributes:
        typical_steps: length of the median demonstration; the unit of returns to go.
    """

    typical_steps: Tensor

    def __init__(self, shape: GridShape, config: DecisionTransformerConfig) -> None:
        super().__init__()
        self.width, self.num_actions = config.width, shape.num_actions
        self.planes = SymbolPlanes(shape)
        self.trunk = make_trunk(shape, shape.planes, config.trunk)
        self.readout = Readout(config.trunk.channels, config.width)
        self.returns = nn.Linear(1, config.width)
        self.actions = nn.Embedding(shape.num_actions, config.width)
        self.positions = nn.Parameter(0.02 * torch.randn(CONTEXT, 1, config.width))
        self.kinds = nn.Parameter(0.02 * torch.randn(TOKENS, config.width))
        self.blocks = nn.Sequential(*(CausalBlock(config) for _ in range(config.layers)))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, shape.num_actions)
        self.register_buffer("typical_steps", torch.ones(()))

    def embed(self, states: Tensor) -> Tensor:
        """Features `[B, width]` of states `[B, H, W]`."""
        features: Tensor = self.readout(self.trunk(self.planes(states)))
        return features

    def forward(self, features: Tensor, actions: Tensor, steps_to_go: Tensor) -> Tensor:
        """Log-probabilities `[B, CONTEXT, A]` of the action after each time step.

        Args:
            features: `[B, CONTEXT, width]`, of states; those after the last one do not matter.
            actions: `[B, CONTEXT]`; from the last time step on they do not matter.
            steps_to_go: `[B, CONTEXT]`, wanted or demonstrated.
        """
        wanted = self.returns((steps_to_go / self.typical_steps).unsqueeze(2))
        steps = torch.stack([wanted, features, self.actions(actions)], dim=2)
        tokens = (steps + self.positions + self.kinds).flatten(1, 2)
        found = self.norm(self.blocks(tokens)).unflatten(1, (CONTEXT, TOKENS))
        return functional.log_softmax(self.head(found[:, :, 1]), dim=-1)


class StateGraph(nn.Module):
    """The exported module that embeds states."""

    def __init__(self, network: DecisionTransformer) -> None:
        super().__init__()
        self.network = network

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Features `[B, width]`, and the typical number of steps `[B]`."""
        features = self.network.embed(states)
        return features, self.network.typical_steps + 0.0 * features[:, 0]


def build(spec: GridSpec, config: DecisionTransformerConfig, horizon: int) -> DecisionTransformer:
    """The network of a configuration."""
    return DecisionTransformer(GridShape.of(spec, config.trunk), config)
