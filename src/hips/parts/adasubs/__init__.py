"""AdaSubS's generators: subgoals at several distances by single-cell edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hips import parts
from hips.parts.adasubs.config import AdaSubsConfig
from hips.parts.folder import FolderPart
from hips.training.verdict import Gauge


@parts.register
class AdaSubsPart(FolderPart):
    """Single-cell edits until STOP, for each of three distances."""

    name = "adasubs"
    about = "generates subgoals at three distances by single-cell edits"
    config_type = AdaSubsConfig
    companions = ("reach_policy", "verifier", "heuristic")
    headline = "exact"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "exact": Gauge(
            "subgoals equal the demonstrated state, over all distances",
            good=0.5,
            useless=0.1,
            advice="raise adasubs.training.steps or choose smaller distances",
        ),
    }
