"""The reach policy: fills in the low-level actions from a state to a subgoal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.reach_policy.config import ReachPolicyConfig
from hips.training.schedule import Size
from hips.training.survey import Survey, suggested
from hips.training.verdict import Gauge

if TYPE_CHECKING:
    from hips.training.segmenters import Segmenter

GENERATOR = ("subgoals", "prior")
"""Parts whose proposals it is trained on."""
ALTERNATION = "reach_policy.alternation"
"""The stage that trains the policy together with its exact segmentation."""


@parts.register
class ReachPolicyPart(FolderPart):
    """π(a | s, s_g)."""

    name = "reach_policy"
    about = "fills in the actions to a subgoal"
    config_type = ReachPolicyConfig
    upstream = GENERATOR
    headline = "reach"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "reach": Gauge(
            "demonstrated subgoals are reached by the policy",
            good=0.9,
            useless=0.4,
            advice="raise reach_policy.imitation.steps or shorten the horizon",
        ),
    }
    default = True

    def configure(
        self, domain: Domain, size: Size, survey: Survey | None = None
    ) -> ReachPolicyConfig:
        """A narrow trunk: only nearby cells matter. The paper trains without a simulator."""
        usual = ReachPolicyConfig()
        chunking = replace(usual.chunking, steps=0) if size == "paper" else usual.chunking
        return ReachPolicyConfig(
            trunk=suitable_trunk(domain.spec, size, survey, channels=32, blocks=4),
            chunk=suggested(domain, survey).horizon,
            imitation=usual.imitation.sized(size),
            alternation=usual.alternation.sized(size),
            chunking=chunking.sized(size),
        )

    def segmenters(self) -> Mapping[str, Segmenter]:
        """The exact segmentation, with the policy as it is or trained together with it."""
        from hips.parts.reach_policy.segmenter import ExactSegmenter

        return {
            "exact": ExactSegmenter(),
            "alternating": ExactSegmenter(stages=(ALTERNATION,)),
        }
