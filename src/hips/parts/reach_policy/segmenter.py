"""The exact segmentation: dynamic programming over the reach policy's log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from hips.arrays import Ints
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.training.segmenters import SegmentationTask
from hips.training.segments import best_segmentation, pair_log_pi


@dataclass(frozen=True, slots=True)
class ExactSegmenter:
    """Maximises Σ log π(a | s, s_g) − α per subgoal over all segmentations of a trajectory."""

    stages: tuple[str, ...] = ("reach_policy.imitation",)
    costly: bool = True

    def following(self, task: SegmentationTask) -> Ints:
        """The best next subgoal of every state."""
        policy, data = LearnedReachPolicy(task.runtime), task.data
        log_pi = pair_log_pi(policy.next_action, data, task.horizon)
        return best_segmentation(log_pi, data.offsets, task.config.penalty)[0]
