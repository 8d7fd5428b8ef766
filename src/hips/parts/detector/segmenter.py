"""The detector's segmentation."""

from __future__ import annotations

from dataclasses import dataclass

from hips.arrays import Ints
from hips.parts.detector.adapter import LearnedDetector
from hips.training.segmenters import SegmentationTask


@dataclass(frozen=True, slots=True)
class DetectorSegmenter:
    """The detector chooses the next subgoal of every state."""

    stages: tuple[str, ...] = ("detector.training",)
    costly: bool = True

    def following(self, task: SegmentationTask) -> Ints:
        """The likeliest next subgoal of every state."""
        return LearnedDetector(task.runtime).following(task.data, task.horizon)
