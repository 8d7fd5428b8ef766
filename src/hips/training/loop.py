"""The only optimisation loop: batches, validation, early stop, checkpoints, metric rows.

Every step draws from streams named after the stage and the step, so a run that was killed goes
on from its checkpoint exactly as if it had not been.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hips.errors import HipsError
from hips.files import read_json, write_json
from hips.seeding import stream, stream_seed
from hips.training import checkpoint
from hips.training.batches import Batch
from hips.training.config import StageConfig
from hips.training.progress import Reporter
from hips.training.world import World

CHECKPOINT_SECONDS = 120.0
WARMUP_SHARE = 0.03
MAX_GRADIENT_NORM = 1.0


class Stage(ABC):
    """One network (or several) to train: where batches come from, the loss, the validation.

    Attributes:
        name: of the stage, unique in a run.
        config: schedule.
        objective: a module whose `forward(batch)` gives the loss and metrics; all it holds is
            saved.
    """

    name: ClassVar[str]
    config: StageConfig
    objective: nn.Module

    @abstractmethod
    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """A training batch of `size` samples."""

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Validation metrics; "score" is what early stopping minimises."""

    def rate_scales(self) -> dict[nn.Module, float]:
        """Factors on the learning rate of parts of the objective."""
        return {self.objective: 1.0}

    def prepare(self) -> None:
        """Called once before the first step, unless the networks start from a model's weights."""
        return


@dataclass(frozen=True, slots=True)
class StageReport:
    """What a finished stage leaves behind."""

    steps: int
    seconds: float
    metrics: dict[str, float]


def learning_rate_factor(step: int, steps: int) -> float:
    """Linear warm-up, then half a cosine down to zero."""
    warmup = max(1, round(steps * WARMUP_SHARE))
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


class StageRun:
    """Runs one stage in its folder, from wherever it was left.

    `fresh` networks have random weights that the stage may prepare; others keep what they know.
    """

    def __init__(
        self,
        stage: Stage,
        folder: Path,
        seed: int,
        reporter: Reporter,
        world: World,
        fresh: bool = True,
    ) -> None:
        self.stage, self.seed, self.reporter, self.world = stage, seed, reporter, world
        self.fresh = fresh
        self.folder = folder / stage.name
        self.module: nn.Module = stage.objective.to(world.device)
        groups = [
            {"params": list(part.parameters()), "scale": scale}
            for part, scale in stage.rate_scales().items()
        ]
        self.optimizer = torch.optim.Adam(groups, lr=stage.config.learning_rate, fused=True)
        self.step, self.seconds = 0, 0.0
        self.best, self.stale = math.inf, 0
        self.best_metrics: dict[str, float] = {}

    @property
    def _latest(self) -> Path:
        return self.folder / "latest.safetensors"

    @property
    def _final(self) -> Path:
        return self.folder / "best.safetensors"

    @property
    def _done(self) -> Path:
        return self.folder / "done.json"

    def run(self) -> StageReport:
        """Trains to the end, or loads the finished stage; the best weights are in place after."""
        if not self._done.exists():
            self._restore()
            self._train()
            self.world.barrier()
        checkpoint.load(self._final, self.module)
        self.module.eval()
        content = read_json(self._done)
        return StageReport(content["steps"], content["seconds"], content["metrics"])

    def _restore(self) -> None:
        if self._latest.exists():
            facts = checkpoint.load(self._latest, self.module, self.optimizer)
            self.step, self.seconds = facts["step"], facts["seconds"]
            self.best, self.stale = facts["best"], facts["stale"]
            self.best_metrics = facts["best_metrics"]
        elif self.fresh:
            torch.manual_seed(stream_seed(self.seed, self.stage.name, "prepare") % 2**63)
            self.stage.prepare()
        self.reporter.start_stage(self.stage.name, self.step, self.stage.config.steps)

    def _train(self) -> None:
        config = self.stage.config
        trained = self.module
        if self.world.size > 1:
            # Every process starts from the same seed or checkpoint; nothing needs to be sent first.
            trained = DistributedDataParallel(
                self.module,
                find_unused_parameters=True,
                init_sync=False,
                broadcast_buffers=False,
            )
        share = max(1, config.batch // self.world.size)
        started = saved = time.monotonic()
        earlier = self.seconds
        while self.step < config.steps and not self._stopped_early():
            self._one_step(trained, share)
            self.step += 1
            now = time.monotonic()
            self.seconds = earlier + now - started
            if self.step % config.validate_every == 0 or self.step == config.steps:
                self._validate()
            elif now - saved > CHECKPOINT_SECONDS:
                self._save()
            else:
                continue
            saved = time.monotonic()
        self._finish()

    def _one_step(self, trained: nn.Module, share: int) -> None:
        name = self.stage.name
        rng = stream(self.seed, name, "batch", self.step, self.world.rank)
        torch.manual_seed(stream_seed(self.seed, name, "torch", self.step) % 2**63)
        self.module.train()
        drawn = self.stage.batch(rng, share)
        batch = {key: value.to(self.world.device) for key, value in drawn.items()}
        factor = learning_rate_factor(self.step, self.stage.config.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = self.stage.config.learning_rate * factor * group["scale"]
        loss, metrics = trained(batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise HipsError(
                f"stage '{name}': the loss became {value} at step {self.step}. The last good "
                f"checkpoint is kept in {self.folder}; try a smaller {name}.learning_rate."
            )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.module.parameters(), MAX_GRADIENT_NORM)
        self.optimizer.step()
        self.reporter.step(self.step + 1, {"loss": value, **_floats(metrics)})

    def _validate(self) -> None:
        self.module.eval()
        with torch.no_grad():
            metrics = self.stage.validate()
        if not math.isfinite(metrics["score"]):
            raise HipsError(
                f"stage '{self.stage.name}': validation gave {metrics['score']} at step "
                f"{self.step}; try a smaller {self.stage.name}.learning_rate."
            )
        self.reporter.validation(self.step, metrics)
        if metrics["score"] < self.best:
            self.best, self.stale, self.best_metrics = metrics["score"], 0, metrics
            if self.world.rank == 0:
                checkpoint.save(self._final, self.module, None, {"step": self.step})
        else:
            self.stale += 1
        self._save()

    def _stopped_early(self) -> bool:
        return 0 < self.stage.config.patience <= self.stale

    def _save(self) -> None:
        facts = {
            "step": self.step,
            "seconds": self.seconds,
            "best": self.best,
            "stale": self.stale,
            "best_metrics": self.best_metrics,
        }
        if self.world.rank == 0:
            checkpoint.save(self._latest, self.module, self.optimizer, facts)

    def _finish(self) -> None:
        self.reporter.end_stage(self.best_metrics)
        if self.world.rank == 0:
            report = {"steps": self.step, "seconds": self.seconds, "metrics": self.best_metrics}
            write_json(self._done, report)
            self._latest.unlink(missing_ok=True)


def _floats(metrics: Mapping[str, Tensor]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items()}
