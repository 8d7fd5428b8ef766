"""The heuristic: the number of remaining low-level steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.heuristic.config import HeuristicConfig
from hips.training.schedule import Size
from hips.training.survey import Survey
from hips.training.verdict import Gauge

WANDERING_FACTOR = 4
"""How much longer than near-optimal plans wandering demonstrations may be."""


@parts.register
class HeuristicPart(FolderPart):
    """h(s)."""

    name = "heuristic"
    about = "estimates the remaining low-level steps"
    config_type = HeuristicConfig
    upstream = ("prior", "dynamics", "familiarity")
    headline = "spearman"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "spearman": Gauge(
            "rank correlation of h with the remaining steps",
            good=0.85,
            useless=0.4,
            advice="raise heuristic.training.steps, collect more demonstrations, or explore",
            share=False,
        ),
        "error": Gauge("mean error of h in steps", share=False),
    }
    default = True

    def configure(
        self, domain: Domain, size: Size, survey: Survey | None = None
    ) -> HeuristicConfig:
        """A trunk like the prior's; wandering demonstrations of the paper's size are longer."""
        usual = HeuristicConfig()
        factor = WANDERING_FACTOR if size == "paper" else 1
        return HeuristicConfig(
            trunk=suitable_trunk(domain.spec, size, survey),
            max_distance=factor * usual.max_distance,
            num_bins=factor // 2 * usual.num_bins or usual.num_bins,
            training=usual.training.sized(size),
        )
