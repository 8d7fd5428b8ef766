"""Training of the subgoal generator: an autoencoder, first continuous, then with a codebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.parts import known
from hips.parts.subgoals.foresight import ForeseenSegmenter, foreseen_pairs
from hips.parts.subgoals.network import SubgoalNetwork
from hips.seeding import stream
from hips.statistics import perplexity
from hips.training.batches import Batch, device_of, mean_metrics, parts
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.loop import Stage
from hips.training.schedule import Schedule
from hips.training.segmenters import find_segmenter
from hips.training.workshop import SubgoalPairs, Workshop

VALIDATION_SAMPLES = 4096
KMEANS_SAMPLES = 16_384


class ReconstructionObjective(nn.Module):
    """Cross-entropy of the subgoal's cells, summed over the grid, plus commitment."""

    def __init__(self, model: SubgoalNetwork, discrete: bool) -> None:
        super().__init__()
        self.model, self.discrete = model, discrete

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss and the share of grids reconstructed exactly."""
        states, subgoals = batch["states"], batch["subgoals"]
        codes = self.model.encode(states, subgoals)
        commitment = codes.new_zeros(())
        metrics: dict[str, Tensor] = {}
        if self.discrete:
            codes, indices, commitment = self.model.quantise(codes)
            metrics["perplexity"] = torch.tensor(perplexity(torch.bincount(indices.cpu()).numpy()))
        scores = self.model.decode(self.model.features(states), codes, states)
        loss = functional.cross_entropy(
            scores.flatten(0, 2), subgoals.long().flatten(), reduction="sum"
        ) / len(states)
        exact = (scores.argmax(dim=-1) == subgoals).all(dim=2).all(dim=1).float().mean()
        metrics["exact"] = exact.detach()
        metrics["reconstruction"] = loss.detach()
        return loss + commitment, metrics


class ContinuousStage(Stage):
    """The continuous autoencoder."""

    stream_name = "autoencoder"
    headline = "exact"
    discrete = False

    def __init__(
        self, schedule: Schedule, model: SubgoalNetwork, train: SubgoalPairs, valid: SubgoalPairs
    ) -> None:
        self.schedule, self.model, self.train = schedule, model, train
        self.objective = ReconstructionObjective(model, self.discrete)
        rng = stream(0, self.stream_name, "validation")
        self.validation = valid.draw(rng, VALIDATION_SAMPLES, augment=False)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Pairs of the training split."""
        return self.train.draw(rng, size)

    def naive(self) -> dict[str, float]:
        """That nothing changes."""
        same = self.validation["states"] == self.validation["subgoals"]
        return {"exact": float(same.flatten(1).all(dim=1).float().mean())}

    def validate(self) -> dict[str, float]:
        """Reconstruction on held-out pairs."""
        return mean_metrics(self.objective, self.validation)


class DiscreteStage(ContinuousStage):
    """The discrete autoencoder; K-means over continuous codes initialises its codebook."""

    stream_name = "vqvae"
    discrete = True

    def prepare(self) -> None:
        """Runs K-means on the codes of many pairs; too few pairs leave codes unused."""
        pairs = self.train.draw(stream(0, self.stream_name, "k-means"), KMEANS_SAMPLES)
        self.model.eval()
        with torch.no_grad():
            codes = [
                self.model.encode(part["states"], part["subgoals"])
                for part in parts(pairs, device_of(self.model))
            ]
            self.model.train()
            self.model.quantise(torch.cat(codes))

    def validate(self) -> dict[str, float]:
        """Reconstruction, and the codebook's usage over all held-out pairs."""
        used = perplexity(torch.bincount(code_indices(self.model, self.validation)).numpy())
        return {**super().validate(), "perplexity": used}


class ForeseenStage(DiscreteStage):
    """The discrete autoencoder learns on, from subgoals that it foresees; its codes stay."""

    stream_name = "foreseen"

    def prepare(self) -> None:
        """The codebook is there already."""
        return


def code_indices(model: SubgoalNetwork, pairs: Batch) -> Tensor:
    """The code of every pair of states and subgoals, `[B]`."""
    with torch.no_grad():
        indices = [
            model.quantise(model.encode(part["states"], part["subgoals"]))[1]
            for part in parts(pairs, device_of(model))
        ]
    return torch.cat(indices).long().cpu()


def build_continuous(workshop: Workshop) -> ContinuousStage:
    """The first stage of a run."""
    schedule = workshop.config.parts["subgoals"].continuous
    return ContinuousStage(schedule, _network(workshop), *workshop.pairs())


def build_discrete(workshop: Workshop) -> DiscreteStage:
    """The second stage of a run."""
    schedule = workshop.config.parts["subgoals"].discrete
    return DiscreteStage(schedule, _network(workshop), *workshop.pairs())


def build_foreseen(workshop: Workshop) -> ForeseenStage:
    """The last stage of a run with foresight."""
    schedule = workshop.config.parts["subgoals"].foreseen
    return ForeseenStage(schedule, _network(workshop), *foreseen_pairs(workshop))


def _network(workshop: Workshop) -> SubgoalNetwork:
    return cast(SubgoalNetwork, workshop.network("subgoals"))


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """The autoencoder without and with a codebook, after segmentation, and after another one.

    The detector's stage also trains the policy, which the exact segmentation uses, so it comes
    first.
    """
    segmenter = find_segmenter(config.segmentation.method, known().values())
    stages = [
        StageSpec(
            "subgoals.continuous", build_continuous, segmenter.stages, after=("detector.training",)
        ),
        StageSpec("subgoals.discrete", build_discrete, ("subgoals.continuous",)),
    ]
    if config.segmentation.foresight > 0:
        stages.append(StageSpec("subgoals.foreseen", build_foreseen, ForeseenSegmenter().stages))
    return stages
