"""The exact segmentation: dynamic programming over the reach policy's log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from hips.arrays import Ints
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.training.lazy_segments import Objective, segment_lazily
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
        data, config = task.data, task.config
        log_pi = taken_log_pi(LearnedReachPolicy(task.runtime).next_action, data)
        objective = Objective(log_pi, config.penalty, config.tolerance)
        return segment_lazily(objective, data.offsets, task.horizon).following
