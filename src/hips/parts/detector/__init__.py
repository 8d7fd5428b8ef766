"""The detector: segments trajectories into subgoals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.detector.config import BLOCKS, CHANNELS, DetectorConfig
from hips.parts.folder import FolderPart
from hips.training.schedule import Size
from hips.training.survey import Survey
from hips.training.verdict import Gauge

if TYPE_CHECKING:
    from hips.training.segmenters import Segmenter

DETECTOR, DISTILLED = "detector", "distilled"
"""The segmentations by the published detector, and by one that learned from exact values."""
POLICY = "reach_policy.alternation"
"""The stage that trains the policy together with the exact optimum."""


@parts.register
class DetectorPart(FolderPart):
    """q(s_j | s_i)."""

    name = "detector"
    about = "segments trajectories into subgoals"
    config_type = DetectorConfig
    upstream = ("reach_policy",)
    headline = "objective"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "objective": Gauge("objective of the detector's segmentation", share=False),
        "exact_objective": Gauge("objective of the best segmentation", share=False),
        "segment": Gauge("mean steps of a segment", share=False),
        "exact_segment": Gauge("mean steps of a segment of the best segmentation", share=False),
    }
    paper_segmentation = DETECTOR

    def configure(self, domain: Domain, size: Size, survey: Survey | None = None) -> DetectorConfig:
        """The published network at every size but the smallest."""
        scale: Size = "smoke" if size == "smoke" else "laptop"
        usual = DetectorConfig()
        return DetectorConfig(
            trunk=suitable_trunk(domain.spec, scale, survey, CHANNELS, BLOCKS),
            training=usual.training.sized(size),
            distillation=usual.distillation.sized(size),
        )

    def segmenters(self) -> Mapping[str, Segmenter]:
        """The detector's own segmentation, after either training."""
        from hips.parts.detector.segmenter import DetectorSegmenter

        return {
            DETECTOR: DetectorSegmenter(),
            DISTILLED: DetectorSegmenter(stages=(POLICY, "detector.distillation")),
        }
