"""The generator's network."""

from __future__ import annotations

from hips.domains.base import GridSpec
from hips.parts.blocks.edits import EditNetwork
from hips.parts.blocks.layers import GridShape
from hips.parts.ksubs.config import KSubsConfig


def build(spec: GridSpec, config: KSubsConfig, horizon: int) -> EditNetwork:
    """The network of a configuration."""
    return EditNetwork(GridShape.of(spec, config.trunk), config.trunk)
