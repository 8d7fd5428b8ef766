"""Training of the prior: cross-entropy of codes and of actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from hips.errors import ConfigError
from hips.parts.prior.network import PriorNetwork
from hips.parts.subgoals.foresight import FIRST_PRIOR, foreseen_pairs
from hips.parts.subgoals.network import SubgoalNetwork
from hips.parts.subgoals.train import VALIDATION_SAMPLES, code_indices
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics, share_of_commonest
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.loop import Stage
from hips.training.schedule import Schedule
from hips.training.workshop import SubgoalPairs, Workshop


class PriorObjective(nn.Module):
    """Cross-entropy of codes and of actions."""

    def __init__(self, prior: PriorNetwork) -> None:
        super().__init__()
        self.prior = prior

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for states `[B, H, W]`, codes `[B]` and actions `[B]`."""
        codes, actions = self.prior(batch["states"])
        code_loss = functional.nll_loss(codes, batch["codes"])
        action_loss = functional.nll_loss(actions, batch["actions"])
        return code_loss + action_loss, {
            "codes": code_loss.detach(),
            "actions": action_loss.detach(),
            "code_accuracy": (codes.argmax(1) == batch["codes"]).float().mean(),
            "action_accuracy": (actions.argmax(1) == batch["actions"]).float().mean(),
        }


class PriorStage(Stage):
    """Learns the codes of the data's subgoals; the VQ-VAE is frozen.

    The VQ-VAE's trunk, which already predicts what changes next, initialises its own.
    """

    objective: PriorObjective
    headline = "action_accuracy"

    def __init__(
        self,
        schedule: Schedule,
        prior: PriorNetwork,
        model: SubgoalNetwork,
        train: SubgoalPairs,
        valid: SubgoalPairs,
    ) -> None:
        self.schedule, self.model, self.train = schedule, model.eval(), train
        self.objective = PriorObjective(prior)
        rng = stream(0, "prior", "validation")
        self.validation = self._with_codes(valid.draw(rng, VALIDATION_SAMPLES, augment=False))

    def prepare(self) -> None:
        """Copies the VQ-VAE's trunk, unless that has a restricted view."""
        if self.model.matches is None:
            self.objective.prior.trunk.load_state_dict(self.model.trunk.state_dict())

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """States with the codes of their next subgoals."""
        return self._with_codes(self.train.draw(rng, size))

    def _with_codes(self, batch: Batch) -> Batch:
        codes = code_indices(self.model, batch)
        return {"states": batch["states"], "actions": batch["actions"], "codes": codes}

    def naive(self) -> dict[str, float]:
        """The commonest action, and the commonest code, in every state."""
        return {
            "action_accuracy": share_of_commonest(self.validation["actions"]),
            "code_accuracy": share_of_commonest(self.validation["codes"]),
        }

    def validate(self) -> dict[str, float]:
        """Cross-entropies and accuracies on held-out states."""
        return mean_metrics(self.objective, self.validation)


class ForeseenPriorStage(PriorStage):
    """The prior learns on, from the subgoals of the second segmentation."""

    def prepare(self) -> None:
        """It keeps the trunk that it has."""
        return


def build(workshop: Workshop) -> PriorStage:
    """The first stage of a run."""
    return PriorStage(
        workshop.config.parts["prior"].training, *_networks(workshop), *workshop.pairs()
    )


def build_foreseen(workshop: Workshop) -> ForeseenPriorStage:
    """The second stage of a run with foresight."""
    schedule, pairs = workshop.config.parts["prior"].foreseen, foreseen_pairs(workshop)
    return ForeseenPriorStage(schedule, *_networks(workshop), *pairs)


def _networks(workshop: Workshop) -> tuple[PriorNetwork, SubgoalNetwork]:
    """The prior and the generator whose codes it learns."""
    prior = cast(PriorNetwork, workshop.network("prior"))
    model = cast(SubgoalNetwork, workshop.network("subgoals"))
    if prior.num_codes != len(model.code_vectors):
        raise ConfigError(
            f"prior.num_codes is {prior.num_codes}, but there are {len(model.code_vectors)} codes; "
            "set it to subgoals.num_codes."
        )
    return prior, model


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """Cross-entropy with the codes of a frozen generator, of each generator there is."""
    stages = [StageSpec(FIRST_PRIOR, build, ("subgoals.discrete",))]
    if config.segmentation.foresight > 0:
        stages.append(StageSpec("prior.foreseen", build_foreseen, ("subgoals.foreseen",)))
    return stages
