"""Stages 2 and 3: the autoencoder of subgoals, continuous first, then with a codebook."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.models.networks.vqvae import SubgoalModel
from hips.seeding import stream
from hips.statistics import perplexity
from hips.training.batches import Batch, device_of, mean_metrics, parts
from hips.training.config import StageConfig
from hips.training.corpus import Augmenter, Corpus, Indices
from hips.training.loop import Stage

VALIDATION_SAMPLES = 4096
KMEANS_SAMPLES = 16_384


class SubgoalPairs:
    """Pairs (s, s_g) of every state and its next subgoal."""

    def __init__(self, corpus: Corpus, following: Indices) -> None:
        self.corpus, self.following = corpus, following
        self.augment = Augmenter(corpus.domain)
        self.starts = corpus.decisions

    def draw(self, rng: np.random.Generator, size: int, augment: bool = True) -> Batch:
        """A batch of states, subgoals and the actions taken in the states."""
        starts = rng.choice(self.starts, size=size)
        grids = [self.corpus.states[starts], self.corpus.states[self.following[starts]]]
        actions = self.corpus.actions[starts]
        if augment:
            grids, renamed = self.augment(rng, grids, actions)
            assert renamed is not None
            actions = renamed
        return {
            "states": torch.from_numpy(grids[0]),
            "subgoals": torch.from_numpy(grids[1]),
            "actions": torch.from_numpy(actions),
        }


class ReconstructionObjective(nn.Module):
    """Cross-entropy of the subgoal's cells, summed over the grid, plus commitment."""

    def __init__(self, model: SubgoalModel, discrete: bool) -> None:
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


class AutoencoderStage(Stage):
    """The continuous autoencoder."""

    name = "autoencoder"
    discrete = False

    def __init__(
        self, config: StageConfig, model: SubgoalModel, train: SubgoalPairs, valid: SubgoalPairs
    ) -> None:
        self.config, self.model, self.train = config, model, train
        self.objective = ReconstructionObjective(model, self.discrete)
        rng = stream(0, self.name, "validation")
        self.validation = valid.draw(rng, VALIDATION_SAMPLES, augment=False)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Pairs of the training split."""
        return self.train.draw(rng, size)

    def validate(self) -> dict[str, float]:
        """Reconstruction on held-out pairs."""
        return mean_metrics(self.objective, self.validation)


class VqvaeStage(AutoencoderStage):
    """The discrete autoencoder; its codebook starts from K-means over continuous codes."""

    name = "vqvae"
    discrete = True

    def prepare(self) -> None:
        """Runs K-means on the codes of many pairs: too few kill the codebook."""
        pairs = self.train.draw(stream(0, self.name, "k-means"), KMEANS_SAMPLES)
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


def code_indices(model: SubgoalModel, pairs: Batch) -> Tensor:
    """The code of every pair of states and subgoals, `[B]`."""
    with torch.no_grad():
        indices = [
            model.quantise(model.encode(part["states"], part["subgoals"]))[1]
            for part in parts(pairs, device_of(model))
        ]
    return torch.cat(indices).long().cpu()
