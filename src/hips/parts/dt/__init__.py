"""The Decision Transformer: the next action, given the past and the wanted return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hips import parts
from hips.parts.dt.config import DecisionTransformerConfig
from hips.parts.folder import FolderPart
from hips.training.verdict import Gauge


@parts.register
class DecisionTransformerPart(FolderPart):
    """A causal transformer over returns to go, states and actions."""

    name = "dt"
    about = "predicts the next action from the past and the steps to go"
    config_type = DecisionTransformerConfig
    headline = "action_accuracy"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "action_accuracy": Gauge(
            "the demonstrator's actions are the likeliest ones",
            good=0.6,
            useless=0.3,
            advice="raise dt.training.steps, or collect more demonstrations",
        ),
    }
