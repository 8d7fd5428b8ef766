"""The generators' network."""

from __future__ import annotations

from hips.domains.base import GridSpec
from hips.parts.adasubs.adapter import STAGES
from hips.parts.adasubs.config import AdaSubsConfig
from hips.parts.blocks.edits import EditNetwork
from hips.parts.blocks.layers import GridShape


def build(spec: GridSpec, config: AdaSubsConfig, horizon: int) -> EditNetwork:
    """The network of a configuration."""
    return EditNetwork(GridShape.of(spec, config.trunk), config.trunk, STAGES)
