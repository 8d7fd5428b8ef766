"""AdaSubS's verifier: whether the reach policy arrives at a proposed subgoal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.folder import FolderPart
from hips.parts.verifier.config import VerifierConfig
from hips.training.schedule import Size
from hips.training.survey import Survey
from hips.training.verdict import Gauge

SMOKE_STATES = 64


@parts.register
class VerifierPart(FolderPart):
    """The probability of reaching a subgoal."""

    name = "verifier"
    about = "foresees whether the policy reaches a subgoal"
    config_type = VerifierConfig
    upstream = ("adasubs", "reach_policy")
    companions = ("adasubs", "reach_policy")
    headline = "accuracy"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "accuracy": Gauge(
            "subgoals are judged right",
            good=0.8,
            useless=0.5,
            advice="raise verifier.training.steps",
        ),
    }

    def configure(self, domain: Domain, size: Size, survey: Survey | None = None) -> VerifierConfig:
        """The usual configuration; a trial makes few attempts."""
        usual: VerifierConfig = super().configure(domain, size, survey)
        return replace(usual, states=SMOKE_STATES) if size == "smoke" else usual
