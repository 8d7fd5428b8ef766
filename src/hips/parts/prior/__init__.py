"""The prior: probabilities of the next subgoal (π_SG) and action (π_BC)."""

from __future__ import annotations

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.prior.config import PriorConfig
from hips.training.schedule import Size


@parts.register
class PriorPart(FolderPart):
    """π_SG(e | s) and π_BC(a | s)."""

    name = "prior"
    about = "gives the probabilities of subgoals and actions"
    config_type = PriorConfig
    upstream = ("subgoals",)
    headline = "action_accuracy"
    default = True

    def configure(self, domain: Domain, size: Size) -> PriorConfig:
        """A trunk like the generator's, whose weights initialise it."""
        return PriorConfig(
            trunk=suitable_trunk(domain.spec, size),
            num_codes=domain.preset.num_codes,
            training=PriorConfig().training.sized(size),
        )
