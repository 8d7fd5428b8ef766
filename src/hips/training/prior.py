"""Stage 4: the prior over codes π_SG and the behaviour-cloning policy π_BC, on one trunk."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from hips.models.networks.heads import Prior
from hips.models.networks.vqvae import SubgoalModel
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.config import StageConfig
from hips.training.loop import Stage
from hips.training.subgoals import VALIDATION_SAMPLES, SubgoalPairs, code_indices


class PriorObjective(nn.Module):
    """Cross-entropy of codes and of actions."""

    def __init__(self, prior: Prior) -> None:
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
    """Learns which code the data takes in a state; the VQ-VAE is frozen.

    The trunk starts from the VQ-VAE's, which knows already what changes next.
    """

    name = "prior"
    objective: PriorObjective

    def __init__(
        self,
        config: StageConfig,
        prior: Prior,
        model: SubgoalModel,
        train: SubgoalPairs,
        valid: SubgoalPairs,
    ) -> None:
        self.config, self.model, self.train = config, model.eval(), train
        self.objective = PriorObjective(prior)
        rng = stream(0, self.name, "validation")
        self.validation = self._with_codes(valid.draw(rng, VALIDATION_SAMPLES, augment=False))

    def prepare(self) -> None:
        """Takes over the VQ-VAE's trunk, unless that one is made to see less."""
        if self.model.matches is None:
            self.objective.prior.trunk.load_state_dict(self.model.trunk.state_dict())

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """States with the codes of their next subgoals."""
        return self._with_codes(self.train.draw(rng, size))

    def _with_codes(self, batch: Batch) -> Batch:
        codes = code_indices(self.model, batch)
        return {"states": batch["states"], "actions": batch["actions"], "codes": codes}

    def validate(self) -> dict[str, float]:
        """Cross-entropies and accuracies on held-out states."""
        return mean_metrics(self.objective, self.validation)
