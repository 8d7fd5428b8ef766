"""The detector: segments trajectories into subgoals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.detector.config import DetectorConfig
from hips.parts.folder import FolderPart
from hips.training.schedule import Size

if TYPE_CHECKING:
    from hips.training.segmenters import Segmenter


@parts.register
class DetectorPart(FolderPart):
    """q(s_j | s_i)."""

    name = "detector"
    about = "segments trajectories into subgoals"
    config_type = DetectorConfig
    upstream = ("reach_policy",)
    headline = "objective"

    def configure(self, domain: Domain, size: Size) -> DetectorConfig:
        """A small network, since it runs on every state of every demonstration."""
        return DetectorConfig(
            trunk=suitable_trunk(domain.spec, size, channels=24, blocks=2),
            training=DetectorConfig().training.sized(size),
        )

    def segmenters(self) -> Mapping[str, Segmenter]:
        """The detector's own segmentation."""
        from hips.parts.detector.segmenter import DetectorSegmenter

        return {"detector": DetectorSegmenter()}
