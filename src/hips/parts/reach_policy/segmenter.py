"""The exact segmentation: dynamic programming over the reach policy's log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from hips.arrays import Ints
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.training.lazy_segments import segment_lazily
from hips.training.segmenters import SegmentationTask
from hips.training.segments import taken_log_pi


@dataclass(frozen=True, slots=True)
class ExactSegmenter:
    """Maximises Σ log π(a | s, s_g) − α per subgoal over all segmentations of a trajectory.

    With a tolerance it takes the farthest of nearly equal subgoals: fewer of them, and easier to
    foresee.
    """

    stages: tuple[str, ...] = ("reach_policy.imitation",)
    costly: bool = True

    def following(self, task: SegmentationTask) -> Ints:
        """The best next subgoal of every state."""
        policy, data = LearnedReachPolicy(task.runtime), task.data
        score = taken_log_pi(policy.next_action, data)
        config = task.config
        return segment_lazily(
            score, data.offsets, task.horizon, config.penalty, config.tolerance
        ).following
