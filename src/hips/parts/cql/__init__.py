"""CQL: conservative Q-values of actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hips import parts
from hips.parts.cql.config import CqlConfig
from hips.parts.folder import FolderPart
from hips.training.verdict import Gauge


@parts.register
class CqlPart(FolderPart):
    """Q(s, a) from offline double Q-learning with a conservative penalty."""

    name = "cql"
    about = "estimates conservative Q-values of actions"
    config_type = CqlConfig
    headline = "action_accuracy"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "action_accuracy": Gauge(
            "the demonstrator's actions are the likeliest ones",
            good=0.6,
            useless=0.3,
            advice="raise cql.training.steps, or collect more demonstrations",
        ),
    }
