"""The heuristic: the number of remaining low-level steps."""

from __future__ import annotations

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.heuristic.config import HeuristicConfig
from hips.training.schedule import Size


@parts.register
class HeuristicPart(FolderPart):
    """h(s)."""

    name = "heuristic"
    about = "estimates the remaining low-level steps"
    config_type = HeuristicConfig
    upstream = ("prior", "dynamics")
    headline = "spearman"
    default = True

    def configure(self, domain: Domain, size: Size) -> HeuristicConfig:
        """A trunk like the prior's, whose weights initialise it."""
        return HeuristicConfig(
            trunk=suitable_trunk(domain.spec, size),
            training=HeuristicConfig().training.sized(size),
        )
