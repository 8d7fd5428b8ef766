"""Shared layers: symbol planes, a residual trunk over cells, and pooled or per-cell heads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.domains.base import GridSpec
from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.relations import Matches, SameSymbols
from hips.parts.blocks.viewpoint import Viewpoint

IMPOSSIBLE = -30.0
"""Score of a symbol that cannot occur in a cell."""


@dataclass(frozen=True, slots=True)
class GridShape:
    """A domain's grids as a network sees them.

    Attributes:
        height: rows of a grid.
        width: columns of a grid.
        num_symbols: size of the alphabet.
        num_actions: number of actions.
        border: outer rings that always hold symbol 0 and are cropped.
        downsample: factor by which cells are folded into channels.
        positions: whether to embed absolute positions (fixes the grid's size).
        motion: radius in cells from which a moving symbol may come; see `CellScores`.
        rewrites: whether folded cells predict rewrite rules of symbols; see `CellScores`.
        same_symbols: whether cells with the same symbol exchange features; see `SameSymbols`.
        anchors: symbols on which a grid is centred; see `Viewpoint`.
    """

    height: int
    width: int
    num_symbols: int
    num_actions: int
    border: int = 0
    downsample: int = 1
    positions: bool = True
    motion: int = 0
    rewrites: bool = False
    same_symbols: bool = False
    anchors: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Rejects a border together with anchors, and shapes without cells after cropping."""
        if self.border and self.anchors:
            raise ConfigError("A domain cannot have both a border and anchors; set only one.")
        if min(self.cells) < 1:
            raise ConfigError(
                f"A grid of {self.height}×{self.width} leaves no cell after cropping its border "
                f"and folding by {self.downsample}; set downsample=1."
            )

    @classmethod
    def of(cls, spec: GridSpec, trunk: TrunkConfig) -> GridShape:
        """The shape of a domain's grids for a trunk."""
        return cls(
            spec.height,
            spec.width,
            spec.num_symbols,
            spec.num_actions,
            spec.border,
            downsample=trunk.downsample,
            positions=trunk.positions,
            motion=trunk.motion,
            rewrites=trunk.rewrites,
            same_symbols=trunk.same_symbols,
            anchors=spec.anchors,
        )

    def check_relations(self, places: int) -> None:
        """Rejects relations where the network has no fixed places."""
        if places < 0:
            raise ConfigError("relations must be 0 or more places.")
        if places and (self.anchors or not self.positions):
            raise ConfigError(
                "relations compare cells with fixed places; they need trunk.positions=true and a "
                "domain without anchors."
            )

    @property
    def padding(self) -> tuple[int, int]:
        """Rows and columns to pad so that the cropped grid folds evenly."""
        inner = (self.height - 2 * self.border, self.width - 2 * self.border)
        return -inner[0] % self.downsample, -inner[1] % self.downsample

    @property
    def cells(self) -> tuple[int, int]:
        """Rows and columns of the trunk's input."""
        rows, columns = self.padding
        return (
            (self.height - 2 * self.border + rows) // self.downsample,
            (self.width - 2 * self.border + columns) // self.downsample,
        )

    @property
    def shown_symbols(self) -> int:
        """Number of symbols with a plane; with a border, symbol 0 has none."""
        return self.num_symbols - (1 if self.border else 0)

    @property
    def planes(self) -> int:
        """Number of output channels of `SymbolPlanes`."""
        edges = 2 if self.anchors else 0
        return (self.shown_symbols + edges) * self.downsample**2

    def matches(self, places: int) -> Matches | None:
        """The comparison of all cells with `places` places; None for 0."""
        cells = math.prod(self.cells) * self.downsample**2
        return Matches(places, self.shown_symbols, cells) if places else None

    def viewpoint(self) -> Viewpoint | None:
        """The viewpoint, if the domain has anchors."""
        return Viewpoint(self.anchors) if self.anchors else None


class SymbolPlanes(nn.Module):
    """One-hot planes: uint8 `[B, H, W]` -> float `[B, planes, h, w]`.

    With a border, everything outside the crop is symbol 0; its plane is omitted, so that the
    convolutions' zero padding *means* symbol 0. With anchors, grids are rolled to centre them, and
    two more planes mark cells beyond the edges.
    """

    symbols: Tensor

    def __init__(self, shape: GridShape) -> None:
        super().__init__()
        self.shape = shape
        first = 1 if shape.border else 0
        symbols = torch.arange(first, shape.num_symbols, dtype=torch.uint8).view(1, -1, 1, 1)
        self.register_buffer("symbols", symbols, persistent=False)
        self.viewpoint = shape.viewpoint()

    def forward(self, states: Tensor, seen_from: Tensor | None = None) -> Tensor:
        """Crops, splits into planes and folds; `seen_from` are the states with the anchors."""
        border = self.shape.border
        if border:
            states = states[:, border:-border, border:-border]
        if self.viewpoint is None:
            planes = (states.unsqueeze(1) == self.symbols).float()
        else:
            offsets = self.viewpoint.offsets(states if seen_from is None else seen_from)
            rolled = self.viewpoint.roll(states, offsets)
            planes = (rolled.unsqueeze(1) == self.symbols).float()
            planes = torch.cat([planes, self.viewpoint.edges(offsets)], dim=1)
        rows, columns = self.shape.padding
        if rows or columns:
            planes = functional.pad(planes, (0, columns, 0, rows))
        if self.shape.downsample > 1:
            planes = functional.pixel_unshuffle(planes, self.shape.downsample)
        return planes


class CellScores(nn.Module):
    """Scores of every symbol in every cell: features `[B, C, h, w]` -> `[B, H, W, symbols]`.

    The symbols of a reference grid get a learned bonus, so the head predicts the *change*. For
    moving symbols, `shape.motion` lets each cell also choose a neighbour whose symbol gets the
    bonus, so a symbol can move without being predicted explicitly. For folded cells,
    `shape.rewrites` lets each folded cell predict what each symbol becomes, independent of its
    position in the fold. On the border, symbol 0 is certain.
    """

    def __init__(self, shape: GridShape, channels: int) -> None:
        super().__init__()
        self.shape = shape
        self.project = nn.Conv2d(channels, shape.num_symbols * shape.downsample**2, 1)
        self.head_start = nn.Parameter(torch.tensor(4.0))
        offsets = (2 * shape.motion + 1) ** 2
        self.origins = (
            nn.Conv2d(channels, offsets * shape.downsample**2, 1) if shape.motion else None
        )
        folded = shape.rewrites and shape.downsample > 1
        self.rewrites = nn.Conv2d(channels, shape.num_symbols**2, 1) if folded else None
        self.viewpoint = shape.viewpoint()

    def forward(self, features: Tensor, references: Tensor) -> Tensor:
        """Scores relative to `references` uint8 `[B, H, W]`, the source of `features`."""
        if self.viewpoint is None:
            return self._scores(features, references).permute(0, 2, 3, 1)
        offsets = self.viewpoint.offsets(references)
        scores = self._scores(features, self.viewpoint.roll(references, offsets))
        return self.viewpoint.unroll(scores, offsets).permute(0, 2, 3, 1)

    def _scores(self, features: Tensor, references: Tensor) -> Tensor:
        """Scores `[B, symbols, H, W]` in the features' frame of the grid."""
        scores = self._full_size(self.project(features))
        if self.shape.border:
            rim = (self.shape.border,) * 4
            scores = torch.cat(
                [
                    functional.pad(scores[:, :1], rim, value=0.0),
                    functional.pad(scores[:, 1:], rim, value=IMPOSSIBLE),
                ],
                dim=1,
            )
        symbols = torch.arange(self.shape.num_symbols, dtype=torch.uint8, device=scores.device)
        same = (references.unsqueeze(1) == symbols.view(1, -1, 1, 1)).float()
        scores = scores + self.head_start * same
        if self.origins is not None:
            scores = scores + self._moved(self._full_size(self.origins(features)), same)
        if self.rewrites is not None:
            scores = scores + self._rewritten(self.rewrites(features), same)
        return scores

    def _rewritten(self, rules: Tensor, same: Tensor) -> Tensor:
        """Scores of each cell's symbol under the rules `[B, S², h, w]` of its folded cell."""
        fold, rim, symbols = self.shape.downsample, self.shape.border, self.shape.num_symbols
        rules = rules.repeat_interleave(fold, dim=2).repeat_interleave(fold, dim=3)
        height, width = same.shape[2] - 2 * rim, same.shape[3] - 2 * rim
        rules = functional.pad(rules[:, :, :height, :width], (rim,) * 4)
        rules = rules.view(-1, symbols, symbols, same.shape[2], same.shape[3])
        return (rules * same.unsqueeze(2)).sum(dim=1)

    def _full_size(self, planes: Tensor) -> Tensor:
        """Unfolds cells and removes the padding."""
        if self.shape.downsample > 1:
            planes = functional.pixel_shuffle(planes, self.shape.downsample)
        rows, columns = self.shape.padding
        if rows or columns:
            planes = planes[:, :, : planes.shape[2] - rows, : planes.shape[3] - columns]
        return planes

    def _moved(self, weights: Tensor, same: Tensor) -> Tensor:
        """The symbols around each cell, by weight: `[B, offsets, H, W]` and planes."""
        motion, rim = self.shape.motion, self.shape.border
        if rim:
            weights = functional.pad(weights, (rim,) * 4)
        height, width = same.shape[2], same.shape[3]
        around = functional.pad(same, (motion,) * 4)
        side = 2 * motion + 1
        moved = torch.zeros_like(same)
        for offset in range(side**2):
            row, column = divmod(offset, side)
            shifted = around[:, :, row : row + height, column : column + width]
            moved = moved + weights[:, offset : offset + 1] * shifted
        return moved


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions; `pooled` blocks also see the mean and maximum over the grid."""

    def __init__(self, channels: int, pooled: bool) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)
        self.pooled = nn.Linear(2 * channels, channels) if pooled else None

    def forward(self, features: Tensor) -> Tensor:
        """`[B, C, h, w]` -> `[B, C, h, w]`."""
        inner = functional.relu(self.first_norm(self.first(features)))
        if self.pooled is not None:
            summary = torch.cat([inner.mean(dim=(2, 3)), inner.amax(dim=(2, 3))], dim=1)
            inner = inner + self.pooled(summary)[:, :, None, None]
        return functional.relu(features + self.second_norm(self.second(inner)))


class CellAttention(nn.Module):
    """Attention between all cells, for non-local relations."""

    def __init__(self, channels: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(channels)
        self.project_in = nn.Linear(channels, 3 * channels)
        self.project_out = nn.Linear(channels, channels)

    def forward(self, features: Tensor) -> Tensor:
        """`[B, C, h, w]` -> `[B, C, h, w]`."""
        batch, channels, height, width = features.shape
        cells = features.flatten(2).transpose(1, 2)
        joint = self.project_in(self.norm(cells))
        joint = joint.view(batch, height * width, 3, self.heads, channels // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        mixed = self.project_out(mixed.transpose(1, 2).reshape(batch, height * width, channels))
        return features + mixed.transpose(1, 2).reshape(batch, channels, height, width)


class Trunk(nn.Module):
    """Planes `[B, planes, h, w]` -> features `[B, channels, h, w]`.

    The last blocks attend over all cells; `same_symbols` adds `SameSymbols` to every block.
    """

    def __init__(
        self,
        shape: GridShape,
        planes: int,
        channels: int,
        blocks: int,
        attention: int = 0,
        same_symbols: bool = False,
    ) -> None:
        super().__init__()
        self.stem = nn.Conv2d(planes, channels, 3, padding=1)
        self.positions = (
            nn.Parameter(torch.zeros(1, channels, *shape.cells)) if shape.positions else None
        )
        layers: list[nn.Module] = []
        for block in range(blocks):
            layers.append(ResidualBlock(channels, pooled=block % 2 == 1))
            if same_symbols:
                layers.append(SameSymbols(channels, shape.shown_symbols, shape.downsample))
            if block >= blocks - attention:
                layers.append(CellAttention(channels))
        self.blocks = nn.Sequential(*layers)

    @classmethod
    def of(cls, shape: GridShape, planes: int, config: TrunkConfig) -> Trunk:
        """The trunk of a configuration."""
        return cls(
            shape, planes, config.channels, config.blocks, config.attention, config.same_symbols
        )

    def forward(self, planes: Tensor) -> Tensor:
        """Features of every cell."""
        features = self.stem(planes)
        if self.positions is not None:
            features = features + self.positions
        features = functional.relu(features)
        for layer in self.blocks:
            exchanges = isinstance(layer, SameSymbols)
            features = layer(features, planes) if exchanges else layer(features)
        return features


class Readout(nn.Module):
    """One vector from all cells: learned attention over cells, plus the mean.

    `[B, C, h, w]` -> `[B, outputs]`, for any grid size.
    """

    def __init__(self, channels: int, outputs: int, heads: int = 4, hidden: int = 128) -> None:
        super().__init__()
        self.attend = nn.Conv2d(channels, heads, 1)
        self.mlp = nn.Sequential(
            nn.Linear((heads + 1) * channels, hidden), nn.ReLU(), nn.Linear(hidden, outputs)
        )

    def forward(self, features: Tensor) -> Tensor:
        """Pools, then maps to the outputs."""
        weights = self.attend(features).flatten(2).softmax(dim=-1)
        cells = features.flatten(2)
        picked = torch.matmul(weights, cells.transpose(1, 2)).flatten(1)
        return self.mlp(torch.cat([picked, cells.mean(dim=2)], dim=1))
