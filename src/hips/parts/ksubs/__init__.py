"""kSubS's generator: subgoals k steps ahead by single-cell edits."""

from __future__ import annotations

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.ksubs.config import KSubsConfig
from hips.training.schedule import Size


@parts.register
class KSubsPart(FolderPart):
    """Single-cell edits until STOP."""

    name = "ksubs"
    about = "generates subgoals a fixed number of steps ahead by single-cell edits"
    config_type = KSubsConfig
    headline = "exact"

    def configure(self, domain: Domain, size: Size) -> KSubsConfig:
        """A trunk like the other generators'."""
        return KSubsConfig(
            trunk=suitable_trunk(domain.spec, size),
            training=KSubsConfig().training.sized(size),
        )
