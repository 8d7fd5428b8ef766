"""Familiarity: whether a demonstrator could have been in a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.familiarity.config import FamiliarityConfig
from hips.parts.folder import FolderPart
from hips.training.schedule import Size
from hips.training.survey import Survey
from hips.training.verdict import Gauge

SMOKE_WALKS = 256


@parts.register
class FamiliarityPart(FolderPart):
    """Tells demonstrated states from the ends of random walks; see `train`."""

    name = "familiarity"
    about = "tells whether a demonstrator could have been in a state"
    config_type = FamiliarityConfig
    upstream = ("dynamics", "prior")
    companions = ("dynamics",)
    headline = "unfamiliar"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "unfamiliar": Gauge("ends of random walks look like no demonstrated state"),
        "mistaken": Gauge("demonstrated states do"),
    }

    def configure(
        self, domain: Domain, size: Size, survey: Survey | None = None
    ) -> FamiliarityConfig:
        """The usual configuration; a trial walks little."""
        usual: FamiliarityConfig = super().configure(domain, size, survey)
        return replace(usual, walks=SMOKE_WALKS) if size == "smoke" else usual
