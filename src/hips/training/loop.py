"""The optimisation loop of every stage: batches, validation, early stopping, checkpoints, metrics.

Every step draws from random streams named after the stage and the step, so a killed run resumes
from its checkpoint exactly as if it had never stopped.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hips.errors import HipsError
from hips.files import read_json, write_json
from hips.seeding import stream, stream_seed
from hips.training import checkpoint
from hips.training.batches import Batch
from hips.training.process_group import ProcessGroup
from hips.training.progress import Reporter
from hips.training.schedule import Schedule

CHECKPOINT_SECONDS = 120.0
WARMUP_SHARE = 0.03
MAX_GRADIENT_NORM = 1.0


class Stage(ABC):
    """The training of one or more networks: batches, loss and validation.

    Attributes:
        schedule: steps, batch size and learning rate.
        objective: a module whose `forward(batch)` returns the loss and metrics; its whole state
            is saved.
        headline: the validation metric that says most.
    """

    schedule: Schedule
    objective: nn.Module
    headline: str = "score"

    @abstractmethod
    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """A training batch of `size` samples."""

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Validation metrics; early stopping minimises "score"."""

    def naive(self) -> dict[str, float]:
        """Validation metrics of the best guess that ignores the state."""
        return {}

    def rate_scales(self) -> dict[nn.Module, float]:
        """Learning-rate factors of submodules of the objective."""
        return {self.objective: 1.0}

    def prepare(self) -> None:
        """Called once before the first step, except after a warm start."""
        return


@dataclass(frozen=True, slots=True)
class StageReport:
    """The record of a finished stage."""

    steps: int
    seconds: float
    metrics: dict[str, float]


def learning_rate_factor(step: int, steps: int) -> float:
    """Linear warm-up, then cosine decay to zero."""
    warmup = max(1, round(steps * WARMUP_SHARE))
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


class StageRun:
    """Runs or resumes one stage in its folder.

    `fresh` networks have random weights, which the stage may prepare; others keep their weights.
    """

    def __init__(
        self,
        name: str,
        stage: Stage,
        folder: Path,
        seed: int,
        reporter: Reporter,
        group: ProcessGroup,
        fresh: bool = True,
    ) -> None:
        self.name, self.stage, self.seed = name, stage, seed
        self.reporter, self.group, self.fresh = reporter, group, fresh
        self.folder = folder / name
        self.module: nn.Module = stage.objective.to(group.device)
        groups = [
            {"params": list(part.parameters()), "scale": scale}
            for part, scale in stage.rate_scales().items()
        ]
        self.optimizer = torch.optim.Adam(groups, lr=stage.schedule.learning_rate, fused=True)
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
        """Trains to the end, or loads the finished stage; leaves the best weights in place."""
        if not self._done.exists():
            self._restore()
            self._train()
            self.group.barrier()
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
            torch.manual_seed(stream_seed(self.seed, self.name, "prepare") % 2**63)
            self.stage.prepare()
        self.reporter.start_stage(self.name, self.step, self.stage.schedule.steps)
        self.reporter.compare_with(self.stage.headline, self.stage.naive())

    def _train(self) -> None:
        schedule = self.stage.schedule
        trained = self.module
        if self.group.size > 1:
            # Every process starts from the same seed or checkpoint; no initial broadcast is needed.
            trained = DistributedDataParallel(
                self.module,
                find_unused_parameters=True,
                init_sync=False,
                broadcast_buffers=False,
            )
        share = max(1, schedule.batch // self.group.size)
        if schedule.steps == 0:
            self._validate()  # keeps the weights as they are
        started = saved = time.monotonic()
        earlier = self.seconds
        while self.step < schedule.steps and not self._stopped_early():
            self._one_step(trained, share)
            self.step += 1
            now = time.monotonic()
            self.seconds = earlier + now - started
            if self.step % schedule.validate_every == 0 or self.step == schedule.steps:
                self._validate()
            elif now - saved > CHECKPOINT_SECONDS:
                self._save()
            else:
                continue
            saved = time.monotonic()
        self._finish()

    def _one_step(self, trained: nn.Module, share: int) -> None:
        name = self.name
        rng = stream(self.seed, name, "batch", self.step, self.group.rank)
        torch.manual_seed(stream_seed(self.seed, name, "torch", self.step) % 2**63)
        self.module.train()
        drawn = self.stage.batch(rng, share)
        batch = {key: value.to(self.group.device) for key, value in drawn.items()}
        factor = learning_rate_factor(self.step, self.stage.schedule.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = self.stage.schedule.learning_rate * factor * group["scale"]
        with self.group.arithmetic():
            loss, metrics = trained(batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise HipsError(
                f"stage '{name}': the loss is {value} at step {self.step}. The last good "
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
                f"stage '{self.name}': the validation score is {metrics['score']} at step "
                f"{self.step}; try a smaller {self.name}.learning_rate."
            )
        self.reporter.validation(self.step, metrics)
        if metrics["score"] < self.best:
            self.best, self.stale, self.best_metrics = metrics["score"], 0, metrics
            if self.group.rank == 0:
                checkpoint.save(self._final, self.module, None, {"step": self.step})
        else:
            self.stale += 1
        self._save()

    def _stopped_early(self) -> bool:
        return 0 < self.stage.schedule.patience <= self.stale

    def _save(self) -> None:
        facts = {
            "step": self.step,
            "seconds": self.seconds,
            "best": self.best,
            "stale": self.stale,
            "best_metrics": self.best_metrics,
        }
        if self.group.rank == 0:
            checkpoint.save(self._latest, self.module, self.optimizer, facts)

    def _finish(self) -> None:
        self.reporter.end_stage(self.best_metrics)
        if self.group.rank == 0:
            report = {"steps": self.step, "seconds": self.seconds, "metrics": self.best_metrics}
            write_json(self._done, report)
            self._latest.unlink(missing_ok=True)


def _floats(metrics: Mapping[str, Tensor]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items()}
