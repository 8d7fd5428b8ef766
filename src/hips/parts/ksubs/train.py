"""Training of kSubS's generator."""

from __future__ import annotations

from collections.abc import Sequence

from hips.parts.blocks.edits import EditStage
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.workshop import Workshop

NAME = "ksubs"


def build(workshop: Workshop) -> EditStage:
    """The stage of a run."""
    config = workshop.config.parts[NAME]
    return EditStage(
        NAME,
        config.training,
        workshop.network(NAME),
        (config.distance,),
        workshop.train,
        workshop.valid,
    )


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Cross-entropy of edits."""
    return (StageSpec(f"{NAME}.training", build),)
