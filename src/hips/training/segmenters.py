"""Segmenters: named ways to cut trajectories into subgoals, for training and scoring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hips.arrays import Ints
from hips.data.dataset import Trajectories
from hips.domains.base import Domain
from hips.errors import UnknownNameError
from hips.models.runtime import GraphRuntime
from hips.training.segments import event_following

if TYPE_CHECKING:
    from hips.training.config import SegmentationConfig
    from hips.training.contract import Part


@dataclass(frozen=True, slots=True)
class SegmentationTask:
    """The input of a segmenter.

    Attributes:
        domain: the domain of the trajectories.
        data: the trajectories.
        horizon: maximum number of steps to a subgoal.
        config: the segmentation settings.
        runtime: the graphs of the parts it needs.
    """

    domain: Domain
    data: Trajectories
    horizon: int
    config: SegmentationConfig
    runtime: GraphRuntime


class Segmenter(Protocol):
    """Chooses the next subgoal of every state."""

    @property
    def stages(self) -> tuple[str, ...]:
        """Stages that must be finished first."""
        ...

    @property
    def costly(self) -> bool:
        """Whether to segment only some of the trajectories."""
        ...

    def following(self, task: SegmentationTask) -> Ints:
        """Index of the next subgoal of every state `[M]`; see `hips.training.segments`."""
        ...


@dataclass(frozen=True, slots=True)
class EventSegmenter:
    """Takes steps that no single action undoes as subgoals. Needs the simulator."""

    stages: tuple[str, ...] = ()
    costly: bool = False

    def following(self, task: SegmentationTask) -> Ints:
        """The next event of every state."""
        data, ahead = task.data, task.config.ahead
        return event_following(task.domain, data.states, data.offsets, task.horizon, ahead)


def find_segmenter(name: str, parts: Iterable[Part]) -> Segmenter:
    """The segmenter `name`: `events`, or one that a part provides."""
    known: dict[str, Segmenter] = {"events": EventSegmenter()}
    for part in parts:
        offered: Mapping[str, Segmenter] = part.segmenters()
        known.update(offered)
    if name not in known:
        raise UnknownNameError(
            f"Unknown segmentation '{name}'. Available with these parts: {', '.join(known)}."
        )
    return known[name]
