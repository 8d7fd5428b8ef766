"""A part that is a folder: its modules are imported on demand."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hips.domains.base import GridSpec
from hips.training.contract import GraphSpec, Part, StageSpec

if TYPE_CHECKING:
    from torch import nn

    from hips.training.config import TrainingConfig
    from hips.training.scoring import Exam


class FolderPart(Part):
    """A part whose folder has four modules with one function each.

    `network.build(spec, config, horizon)`, `train.stages(config)`, `graphs.graphs(network)` and
    `score.score(exam)`; see `Part`. The class itself provides the configuration.
    """

    def build(self, spec: GridSpec, config: Any, horizon: int) -> nn.Module:
        """The network with random weights."""
        network: nn.Module = self._module("network").build(spec, config, horizon)
        return network

    def stages(self, config: TrainingConfig) -> Sequence[StageSpec]:
        """The stages of its training."""
        stages: Sequence[StageSpec] = self._module("train").stages(config)
        return stages

    def graphs(self, network: Any) -> Sequence[GraphSpec]:
        """The graphs to export from a trained network."""
        graphs: Sequence[GraphSpec] = self._module("graphs").graphs(network)
        return graphs

    def score(self, exam: Exam) -> dict[str, float]:
        """The scores for the card."""
        scores: dict[str, float] = self._module("score").score(exam)
        return scores

    def takes_any_size(self, config: Any) -> bool:
        """True for networks without position embeddings."""
        return not config.trunk.positions

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{type(self).__module__}.{name}")
