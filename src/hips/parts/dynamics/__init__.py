"""Learned dynamics: the next state after an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.dynamics.config import DynamicsConfig
from hips.parts.folder import FolderPart
from hips.training.schedule import PAPER_MODEL_RATE, Size
from hips.training.survey import Survey
from hips.training.verdict import Gauge


@parts.register
class DynamicsPart(FolderPart):
    """f(s, a)."""

    name = "dynamics"
    about = "predicts the next state"
    config_type = DynamicsConfig
    headline = "exact"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "exact": Gauge(
            "next states are predicted exactly",
            good=0.99,
            useless=0.5,
            advice="raise dynamics.training.steps; only --dynamics learned and hybrid need it",
        ),
    }
    default = True

    def configure(self, domain: Domain, size: Size, survey: Survey | None = None) -> DynamicsConfig:
        """A shallow trunk: one action changes little. The paper has demonstrations only."""
        return DynamicsConfig(
            trunk=suitable_trunk(domain.spec, size, survey, channels=32, blocks=2),
            wandering=0.0 if size == "paper" else DynamicsConfig().wandering,
            training=DynamicsConfig().training.sized(size, PAPER_MODEL_RATE),
        )
