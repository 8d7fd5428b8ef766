"""AdaSubS's generators: subgoals at several distances by single-cell edits."""

from __future__ import annotations

from hips import parts
from hips.domains.base import Domain
from hips.parts.adasubs.config import AdaSubsConfig
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.training.schedule import Size


@parts.register
class AdaSubsPart(FolderPart):
    """Single-cell edits until STOP, for each of three distances."""

    name = "adasubs"
    about = "generates subgoals at three distances by single-cell edits"
    config_type = AdaSubsConfig
    headline = "exact"

    def configure(self, domain: Domain, size: Size) -> AdaSubsConfig:
        """A trunk like the other generators'."""
        return AdaSubsConfig(
            trunk=suitable_trunk(domain.spec, size),
            training=AdaSubsConfig().training.sized(size),
        )
