"""The contract of a part, a learned component, from its configuration to its scores.

A part is one folder, or one class of a plug-in. No other code depends on what it computes:
weights, graphs, int8, resuming, warm starts and scores are generic over parts. Importing a part's
class must not import torch; its methods may.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hips.arrays import Grids
from hips.domains.base import Domain, GridSpec
from hips.models.runtime import Array
from hips.training.schedule import Size
from hips.training.survey import Survey
from hips.training.verdict import Gauge

if TYPE_CHECKING:
    from torch import nn

    from hips.training.config import TrainingConfig
    from hips.training.loop import Stage
    from hips.training.scoring import Exam
    from hips.training.segmenters import Segmenter
    from hips.training.workshop import Workshop

BATCH = "batch"
"""The axis of an input with one row per state."""


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One stage of training, before its data is available.

    Attributes:
        name: `part.stage`, unique in a run.
        build: makes the stage from networks and data.
        needs: stages that must be finished first, in this run or in the warm start's model.
        after: stages that come first if they are part of the run.
        effort: cost of a sample, relative to one pass of the part's graphs forth and back.
    """

    name: str
    build: Callable[[Workshop], Stage]
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    effort: float = 1.0

    @property
    def part(self) -> str:
        """The part that it mainly trains."""
        return self.name.split(".")[0]


@dataclass(frozen=True, slots=True)
class Examples:
    """Demonstrated states for tracing and calibrating graphs.

    Attributes:
        states: `[B, H, W]`.
        subgoals: `[B, H, W]`, a later state of the same trajectory for each.
        num_actions: of the domain.
    """

    states: Grids
    subgoals: Grids
    num_actions: int

    def __getitem__(self, rows: slice) -> Examples:
        return Examples(self.states[rows], self.subgoals[rows], self.num_actions)


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """A graph to export.

    Attributes:
        name: of the graph and its files, unique in a model.
        module: the module to export; its forward takes the inputs in order.
        inputs: makes named example inputs from states.
        outputs: names of the outputs.
        axes: the name of the first axis of each input, if not `BATCH`.
        quantised: whether an int8 version is worth having.
    """

    name: str
    module: nn.Module
    inputs: Callable[[Examples], Mapping[str, Array]]
    outputs: tuple[str, ...]
    axes: Mapping[str, str] = field(default_factory=dict)
    quantised: bool = False


class Part(ABC):
    """A learned component.

    Attributes:
        name: unique among parts.
        about: one sentence of description.
        config_type: frozen dataclass of its configuration: network sizes and schedules.
        upstream: parts whose networks its training uses.
        companions: parts that methods need beside it; choosing it for training chooses them too.
        headline: the score shown in lists.
        gauges: what each score means, by name, and which values are good.
        default: whether it is trained by default.
        paper_segmentation: the segmenter of this part that the paper uses; empty for none.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    config_type: ClassVar[type[Any]]
    upstream: ClassVar[tuple[str, ...]] = ()
    companions: ClassVar[tuple[str, ...]] = ()
    headline: ClassVar[str] = ""
    gauges: ClassVar[Mapping[str, Gauge]] = {}
    default: ClassVar[bool] = False
    paper_segmentation: ClassVar[str] = ""

    @abstractmethod
    def configure(self, domain: Domain, size: Size, survey: Survey | None = None) -> Any:
        """The default configuration for a domain at a size, given what its actions change."""

    @abstractmethod
    def build(self, spec: GridSpec, config: Any, horizon: int) -> nn.Module:
        """The network with random weights."""

    @abstractmethod
    def stages(self, config: TrainingConfig) -> Sequence[StageSpec]:
        """The stages of its training."""

    @abstractmethod
    def graphs(self, network: nn.Module) -> Sequence[GraphSpec]:
        """The graphs to export from a trained network."""

    @abstractmethod
    def score(self, exam: Exam) -> dict[str, float]:
        """The scores for the card, measured with the graphs used for solving."""

    def takes_any_size(self, config: Any) -> bool:
        """Whether the network accepts grids of sizes other than in training."""
        return False

    def segmenters(self) -> Mapping[str, Segmenter]:
        """Segmenters that this part provides, by name."""
        return {}
