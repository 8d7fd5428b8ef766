"""The prior: probabilities of the next subgoal (π_SG) and action (π_BC)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.prior.config import PriorConfig
from hips.training.schedule import Size
from hips.training.survey import Survey, suggested
from hips.training.verdict import Gauge


@parts.register
class PriorPart(FolderPart):
    """π_SG(e | s) and π_BC(a | s)."""

    name = "prior"
    about = "gives the probabilities of subgoals and actions"
    config_type = PriorConfig
    upstream = ("subgoals",)
    headline = "action_accuracy"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "action_accuracy": Gauge(
            "the demonstrator's actions are the likeliest ones (of equally good ones, too)",
            good=0.6,
            useless=0.3,
            advice="raise prior.training.steps, or collect more demonstrations",
        ),
    }
    default = True

    def configure(self, domain: Domain, size: Size, survey: Survey | None = None) -> PriorConfig:
        """A trunk like the generator's, whose weights initialise it."""
        usual = PriorConfig()
        return PriorConfig(
            trunk=suitable_trunk(domain.spec, size, survey),
            num_codes=suggested(domain, survey).num_codes,
            training=usual.training.sized(size),
            foreseen=usual.foreseen.sized(size),
        )
