"""Networks that do not assume that neighbouring cells matter: dense layers over all cells.

A convolution moves information one cell per layer. Where an action changes cells far apart, as a
turn of a cube does, dense layers learn in seconds what convolutions do not learn at all. They fit
grids of one size only.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import CellScores, GridShape, Trunk

RARE = 1e-3
"""Probability of a symbol that no cell is copied to, before the head's own scores."""
SELF = 3.0
"""Initial score of copying the cell itself."""


def make_trunk(shape: GridShape, planes: int, config: TrunkConfig) -> nn.Module:
    """The trunk of a configuration: planes `[B, planes, h, w]` -> `[B, channels, h, w]`."""
    if config.mixing:
        return MixingTrunk(shape, planes, config)
    return Trunk.of(shape, planes, config)


def make_pair_trunk(shape: GridShape, config: TrunkConfig) -> nn.Module:
    """The trunk over the planes of two grids, one after the other; see `make_trunk`."""
    if config.mixing:
        return MixingTrunk(shape, 2 * shape.planes, config, compared=True)
    return Trunk.of(shape, 2 * shape.planes, config)


def make_cell_scores(shape: GridShape, config: TrunkConfig, channels: int) -> nn.Module:
    """The head that scores every symbol in every cell, relative to a reference grid."""
    if config.copies:
        return CopyScores(shape, channels, config.hidden)
    return CellScores(shape, channels)


class MixingBlock(nn.Module):
    """A residual block whose hidden layer sees all cells: `[B, C, h, w]` -> `[B, C, h, w]`.

    A code `[B, D]` may scale and shift the hidden layer.
    """

    def __init__(self, width: int, hidden: int, code_dimension: int = 0) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.first = nn.Linear(width, hidden, bias=False)
        self.second_norm = nn.BatchNorm1d(hidden)
        self.second = nn.Linear(hidden, width, bias=False)
        self.film = nn.Linear(code_dimension, 2 * hidden) if code_dimension else None

    def forward(self, features: Tensor, codes: Tensor | None = None) -> Tensor:
        """Adds what all cells together say to each."""
        inner = self.second_norm(self.first(self.norm(features.flatten(1))))
        if self.film is not None and codes is not None:
            scale, shift = self.film(codes).chunk(2, dim=1)
            inner = inner * (1.0 + scale) + shift
        return features + self.second(functional.relu(inner)).view_as(features)


class PairMatches(nn.Module):
    """Which cells of one grid hold the symbol of which cells of another.

    A permutation of cells is the same pattern of matches in every state, so it need not be learned
    for each arrangement of symbols.
    """

    def __init__(self, shape: GridShape, hidden: int, channels: int) -> None:
        super().__init__()
        self.symbols, self.parts = shape.shown_symbols, shape.downsample**2
        cells = math.prod(shape.cells)
        self.cells = cells * self.parts
        self.first = nn.Linear(self.cells**2, hidden, bias=False)
        self.norm = nn.BatchNorm1d(hidden)
        self.second = nn.Linear(hidden, channels * cells)

    def forward(self, planes: Tensor) -> Tensor:
        """Planes `[B, 2 · planes, h, w]` of two grids -> `[B, C · h · w]`."""
        shown = [
            half[:, : self.symbols * self.parts].reshape(-1, self.symbols, self.cells)
            for half in planes.chunk(2, dim=1)
        ]
        same = torch.matmul(shown[0].transpose(1, 2), shown[1]).flatten(1)
        mixed: Tensor = self.second(functional.relu(self.norm(self.first(same))))
        return mixed


class MixingTrunk(nn.Module):
    """Planes `[B, planes, h, w]` -> features `[B, channels, h, w]`, by dense layers over all cells.

    With `compared`, the planes are those of two grids, whose cells are compared with each other.
    """

    def __init__(
        self, shape: GridShape, planes: int, config: TrunkConfig, compared: bool = False
    ) -> None:
        super().__init__()
        if not shape.positions:
            raise ConfigError("trunk.mixing fits grids of one size; it needs trunk.positions=true.")
        if config.attention or config.same_symbols:
            raise ConfigError("trunk.mixing replaces attention and same_symbols; omit them.")
        width = config.channels * math.prod(shape.cells)
        self.stem = nn.Conv2d(planes, config.channels, 1)
        self.positions = nn.Parameter(0.5 * torch.randn(1, config.channels, *shape.cells))
        self.matches = PairMatches(shape, config.hidden, config.channels) if compared else None
        self.blocks = nn.Sequential(
            *(MixingBlock(width, config.hidden) for _ in range(config.blocks))
        )

    def forward(self, planes: Tensor) -> Tensor:
        """Features of every cell."""
        features = self.stem(planes) + self.positions
        if self.matches is not None:
            features = features + self.matches(planes).view_as(features)
        found: Tensor = self.blocks(functional.relu(features))
        return found


class CopyScores(nn.Module):
    """Scores `[B, H, W, symbols]` of cells that copy the symbol of any cell of a reference grid.

    Each cell points at cells; the head's own scores are added, for symbols that are new.
    """

    symbols: Tensor

    def __init__(self, shape: GridShape, channels: int, hidden: int) -> None:
        super().__init__()
        if shape.downsample > 1 or shape.border or shape.anchors:
            raise ConfigError(
                "trunk.copies lets single cells copy each other: it needs trunk.downsample=1 and a "
                "domain without border and anchors."
            )
        self.shape = shape
        cells = math.prod(shape.cells)
        self.project = nn.Conv2d(channels, shape.num_symbols, 1)
        nn.init.zeros_(self.project.weight)
        self.first = nn.Linear(channels * cells, hidden)
        self.point = nn.Linear(hidden, cells**2)
        nn.init.zeros_(self.point.weight)
        with torch.no_grad():
            self.point.bias.copy_(SELF * torch.eye(cells).flatten())
        symbols = torch.arange(shape.num_symbols, dtype=torch.uint8)
        self.register_buffer("symbols", symbols, persistent=False)

    def forward(self, features: Tensor, references: Tensor) -> Tensor:
        """Scores relative to `references` uint8 `[B, H, W]`, the source of `features`."""
        height, width = self.shape.cells
        cells = height * width
        pointers = self.point(functional.relu(self.first(features.flatten(1))))
        weights = pointers.view(-1, cells, cells).softmax(dim=2)
        shown = (references.reshape(-1, cells, 1) == self.symbols).float()
        copied = (torch.matmul(weights, shown) + RARE).log().view(-1, height, width, shown.shape[2])
        own: Tensor = self.project(features)
        return copied + own.permute(0, 2, 3, 1)
