"""Training of AdaSubS's generators."""

from __future__ import annotations

from collections.abc import Sequence

from hips.parts.blocks.edits import EditStage
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.workshop import Workshop

NAME = "adasubs"


def build(workshop: Workshop) -> EditStage:
    """The stage of a run."""
    config = workshop.config.parts[NAME]
    distances = (config.far, config.middle, config.near)
    network = workshop.network(NAME)
    return EditStage(NAME, config.training, network, distances, workshop.train, workshop.valid)


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Cross-entropy of edits at all distances."""
    return (StageSpec(f"{NAME}.training", build),)
