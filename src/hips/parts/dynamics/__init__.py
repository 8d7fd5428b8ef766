"""Learned dynamics: the next state after an action."""

from __future__ import annotations

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.dynamics.config import DynamicsConfig
from hips.parts.folder import FolderPart
from hips.training.schedule import Size


@parts.register
class DynamicsPart(FolderPart):
    """f(s, a)."""

    name = "dynamics"
    about = "predicts the next state"
    config_type = DynamicsConfig
    headline = "exact"
    default = True

    def configure(self, domain: Domain, size: Size) -> DynamicsConfig:
        """A shallow trunk: one action changes little."""
        return DynamicsConfig(
            trunk=suitable_trunk(domain.spec, size, channels=32, blocks=2),
            training=DynamicsConfig().training.sized(size),
        )
