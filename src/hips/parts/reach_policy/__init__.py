"""The reach policy: fills in the low-level actions from a state to a subgoal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.reach_policy.config import ReachPolicyConfig
from hips.training.schedule import Size

if TYPE_CHECKING:
    from hips.training.segmenters import Segmenter

GENERATOR = ("subgoals", "prior")
"""Parts whose proposals it is trained on."""
ALTERNATING = "alternating"
"""The segmentation that is trained together with the policy."""


@parts.register
class ReachPolicyPart(FolderPart):
    """π(a | s, s_g)."""

    name = "reach_policy"
    about = "fills in the actions to a subgoal"
    config_type = ReachPolicyConfig
    upstream = GENERATOR
    headline = "reach"
    default = True

    def configure(self, domain: Domain, size: Size) -> ReachPolicyConfig:
        """A narrow trunk: only nearby cells matter."""
        usual = ReachPolicyConfig()
        return ReachPolicyConfig(
            trunk=suitable_trunk(domain.spec, size, channels=32, blocks=4),
            chunk=domain.preset.horizon,
            imitation=usual.imitation.sized(size),
            alternation=usual.alternation.sized(size),
            chunking=usual.chunking.sized(size),
        )

    def segmenters(self) -> Mapping[str, Segmenter]:
        """The exact segmentation, with the policy as it is or trained together with it."""
        from hips.parts.reach_policy.segmenter import ExactSegmenter

        return {
            "exact": ExactSegmenter(),
            ALTERNATING: ExactSegmenter(stages=("reach_policy.alternation",)),
        }
