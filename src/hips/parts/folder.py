"""A part that is a folder: its modules are imported on demand."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import fields, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hips.domains.base import Domain, GridSpec
from hips.parts.blocks.config import suitable_trunk
from hips.training.contract import GraphSpec, Part, StageSpec
from hips.training.schedule import Schedule, Size
from hips.training.survey import Survey

if TYPE_CHECKING:
    from torch import nn

    from hips.training.config import TrainingConfig
    from hips.training.scoring import Exam


class FolderPart(Part):
    """A part whose folder has four modules with one function each.

    `network.build(spec, config, horizon)`, `train.stages(config)`, `graphs.graphs(network)` and
    `score.score(exam)`; see `Part`. The class itself provides the configuration, which has a
    `trunk`.
    """

    def configure(self, domain: Domain, size: Size, survey: Survey | None = None) -> Any:
        """The usual configuration with a trunk for the domain's grids and schedules of `size`."""
        usual = self.config_type()
        values = {item.name: getattr(usual, item.name) for item in fields(usual)}
        schedules = {
            name: value.sized(size) for name, value in values.items() if isinstance(value, Schedule)
        }
        trunk = suitable_trunk(domain.spec, size, survey, usual.trunk.channels, usual.trunk.blocks)
        return replace(usual, trunk=trunk, **schedules)

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
