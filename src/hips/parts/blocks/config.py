"""The size and structure of a network over grids, without torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hips.domains.base import GridSpec
from hips.errors import ConfigError
from hips.training.schedule import Size

LARGEST_SIDE = 12
"""Grids with a longer side are folded by default."""
SMOKE_CHANNELS, SMOKE_BLOCKS = 16, 2
HEADS = 4


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
    """

    channels: int = 48
    blocks: int = 5
    attention: int = 0
    downsample: int = 1
    positions: bool = True
    motion: int = 0
    rewrites: bool = False
    same_symbols: bool = False

    def __post_init__(self) -> None:
        if self.channels < HEADS or self.channels % HEADS:
            raise ConfigError(f"channels must be a multiple of {HEADS} (the attention heads).")
        if self.motion < 0 or self.attention < 0 or self.blocks < 0:
            raise ConfigError("motion, attention and blocks must be 0 or more.")
        if self.downsample < 1:
            raise ConfigError("downsample must be 1 or more.")


def suitable_trunk(spec: GridSpec, size: Size, channels: int = 48, blocks: int = 5) -> TrunkConfig:
    """The default trunk for a domain's grids; its structure is the same at every size."""
    trunk = TrunkConfig(channels, blocks, downsample=_fold(max(spec.shape)))
    if size == "smoke":
        return replace(
            trunk, channels=min(channels, SMOKE_CHANNELS), blocks=min(blocks, SMOKE_BLOCKS)
        )
    return replace(trunk, channels=2 * channels, blocks=2 * blocks) if size == "paper" else trunk


def _fold(side: int) -> int:
    """Folding factor of grids with a given side: a divisor of it, if there is a small one."""
    if side <= LARGEST_SIDE:
        return 1
    fold = next((f for f in range(2, 8) if side % f == 0 and side // f <= LARGEST_SIDE), None)
    return -(-side // LARGEST_SIDE) if fold is None else fold
