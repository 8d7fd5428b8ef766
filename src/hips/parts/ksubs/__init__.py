"""kSubS's generator: subgoals k steps ahead by single-cell edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hips import parts
from hips.parts.folder import FolderPart
from hips.parts.ksubs.config import KSubsConfig
from hips.training.verdict import Gauge


@parts.register
class KSubsPart(FolderPart):
    """Single-cell edits until STOP."""

    name = "ksubs"
    about = "generates subgoals a fixed number of steps ahead by single-cell edits"
    config_type = KSubsConfig
    companions = ("heuristic",)
    headline = "exact"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "exact": Gauge(
            "states have the demonstrated one, k steps on, among the candidates",
            good=0.5,
            useless=0.1,
            advice="raise ksubs.training.steps or choose a smaller ksubs.distance",
        ),
    }
