"""The size and structure of a network over grids, without torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hips.domains.base import GridSpec
from hips.errors import ConfigError
from hips.training.schedule import Size
from hips.training.survey import Survey

LARGEST_SIDE = 12
"""Grids with a longer side are folded by default."""
SMOKE_CHANNELS, SMOKE_BLOCKS = 16, 2
HEADS = 4
LARGEST_MIXED = 144
"""Number of cells up to which dense layers over all of them are affordable."""
MIXED_WIDTH, MOST_MIXED_CHANNELS, MIXED_BLOCKS, SMOKE_HIDDEN = 512, 32, 3, 64


@dataclass(frozen=True, slots=True)
class TrunkConfig:
    """A residual network over the cells of a grid.

    Attributes:
        channels: width.
        blocks: residual blocks.
        attention: number of last blocks with attention over all cells.
        downsample: folds `downsample × downsample` cells into channels.
        positions: whether to embed absolute positions. Without them, grids of any size fit.
        motion: radius in cells from which a moving symbol may come; 0 for none.
        rewrites: whether folded cells predict rewrite rules of symbols.
        same_symbols: whether cells with the same symbol exchange features.
        mixing: whether blocks are dense layers over all cells instead of convolutions.
        hidden: width of those dense layers.
        copies: whether a decoded cell may take the symbol of any other cell.
    """

    channels: int = 48
    blocks: int = 5
    attention: int = 0
    downsample: int = 1
    positions: bool = True
    motion: int = 0
    rewrites: bool = False
    same_symbols: bool = False
    mixing: bool = False
    hidden: int = 256
    copies: bool = False

    def __post_init__(self) -> None:
        if self.channels < HEADS or self.channels % HEADS:
            raise ConfigError(f"channels must be a multiple of {HEADS} (the attention heads).")
        if self.motion < 0 or self.attention < 0 or self.blocks < 0:
            raise ConfigError("motion, attention and blocks must be 0 or more.")
        if self.downsample < 1:
            raise ConfigError("downsample must be 1 or more.")
        if self.hidden < 1:
            raise ConfigError("hidden must be 1 or more.")


def suitable_trunk(
    spec: GridSpec,
    size: Size,
    survey: Survey | None = None,
    channels: int = 48,
    blocks: int = 5,
) -> TrunkConfig:
    """The default trunk for a domain's grids; its structure is the same at every size."""
    if mixes(spec, survey):
        return _mixing_trunk(spec, size, survey, blocks)
    trunk = TrunkConfig(channels, blocks, downsample=_fold(max(spec.shape)))
    if size == "smoke":
        return replace(
            trunk, channels=min(channels, SMOKE_CHANNELS), blocks=min(blocks, SMOKE_BLOCKS)
        )
    return replace(trunk, channels=2 * channels, blocks=2 * blocks) if size == "paper" else trunk


def mixes(spec: GridSpec, survey: Survey | None) -> bool:
    """Whether the default networks of a domain mix all cells."""
    return survey is not None and not survey.local and math.prod(spec.shape) <= LARGEST_MIXED


def _mixing_trunk(spec: GridSpec, size: Size, survey: Survey | None, blocks: int) -> TrunkConfig:
    """Dense layers over all cells: the more cells, the fewer channels each has."""
    channels = max(2 * HEADS, MIXED_WIDTH // math.prod(spec.shape) // HEADS * HEADS)
    plain = not spec.border and not spec.anchors
    trunk = TrunkConfig(
        min(channels, MOST_MIXED_CHANNELS),
        min(blocks, MIXED_BLOCKS),
        mixing=True,
        copies=survey is not None and survey.copying and plain,
    )
    if size == "smoke":
        return replace(trunk, blocks=1, hidden=SMOKE_HIDDEN)
    return replace(trunk, hidden=2 * trunk.hidden) if size == "paper" else trunk


def _fold(side: int) -> int:
    """Folding factor of grids with a given side: a divisor of it, if there is a small one."""
    if side <= LARGEST_SIDE:
        return 1
    fold = next((f for f in range(2, 8) if side % f == 0 and side // f <= LARGEST_SIDE), None)
    return -(-side // LARGEST_SIDE) if fold is None else fold
