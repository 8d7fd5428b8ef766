"""Progress of training: a live line, metric rows, TensorBoard and curves."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hips.models.bundle import shipped_folder
from hips.models.card import CARD, read_card

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

NAIVE = "naive"
"""The split of the row with a naive guess's metrics."""
ROW_SECONDS = 10.0
LINE_SECONDS = 60.0


class Reporter:
    """Reports the stages of one run; drops rows after the step it resumes from."""

    def __init__(self, folder: Path | None, console: Console | None = None) -> None:
        self.folder = folder
        self.console = console or Console(stderr=True)
        self.live = self.console.is_terminal and folder is not None
        self.stage, self.first_step, self.steps = "", 0, 0
        self.started = self.last_row = self.last_line = time.monotonic()
        self._task: TaskID | None = None
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[metric]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.live,
        )
        self._writer: SummaryWriter | None = None
        self._headline, self._naive = "", dict[str, float]()

    def __enter__(self) -> Reporter:
        self._progress.start()
        if self.folder is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self.folder / "tensorboard"))
        return self

    def __exit__(self, *unused: object) -> None:
        self._progress.stop()
        if self._writer is not None:
            self._writer.close()

    @property
    def rows(self) -> Path | None:
        """The file with the metric rows."""
        return None if self.folder is None else self.folder / "metrics.jsonl"

    def start_stage(self, stage: str, step: int, steps: int) -> None:
        """Called when a stage starts or resumes at `step`."""
        self.stage, self.first_step, self.steps = stage, step, steps
        self.started = self.last_row = self.last_line = time.monotonic()
        self._drop_rows_after(step)
        self._task = self._progress.add_task(stage, total=steps, completed=step, metric="")

    def compare_with(self, headline: str, naive: Mapping[str, float]) -> None:
        """Shows the metric `headline` beside a naive guess and what shipped models ended with."""
        self._headline, self._naive = headline, dict(naive)
        if naive and self.first_step == 0:
            self._row(0, naive, NAIVE)

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Called after an optimisation step."""
        now = time.monotonic()
        text = " ".join(f"{name} {value:.3f}" for name, value in metrics.items())
        if self._task is not None:
            self._progress.update(self._task, completed=step, metric=text)
        if now - self.last_row > ROW_SECONDS:
            self.last_row = now
            self._row(step, metrics, "train")
        if not self.live and now - self.last_line > LINE_SECONDS:
            self.last_line = now
            self._line(step, text)

    def validation(self, step: int, metrics: Mapping[str, float]) -> None:
        """Called after a validation."""
        self._row(step, metrics, "validation")
        text = " ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        beside = ""
        if self._headline in metrics:
            beside = compared(self.stage, self._headline, metrics[self._headline], self._naive)
        self._line(step, f"[green]validation[/] {text}{beside}")

    def end_stage(self, metrics: Mapping[str, float]) -> None:
        """Called when the stage is finished."""
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None

    def message(self, text: str) -> None:
        """Prints a message."""
        if self.folder is not None:
            self._progress.console.print(text)

    def _line(self, step: int, text: str) -> None:
        speed = (step - self.first_step) / max(1e-9, time.monotonic() - self.started)
        left = (self.steps - step) / speed if speed > 0 else float("nan")
        self.message(
            f"{self.stage} {step}/{self.steps} ({speed:.1f} steps/s, {left / 60:.1f} min left) "
            f"{text}"
        )

    def _row(self, step: int, metrics: Mapping[str, float], split: str) -> None:
        if self.rows is None:
            return
        row: dict[str, Any] = {"stage": self.stage, "step": step, "split": split, **metrics}
        with self.rows.open("a") as handle:
            handle.write(json.dumps(row) + "\n")
        if self._writer is not None:
            for name, value in metrics.items():
                self._writer.add_scalar(f"{self.stage}/{split}/{name}", value, step)

    def _drop_rows_after(self, step: int) -> None:
        if self.rows is None or not self.rows.exists():
            return
        lines = self.rows.read_text().splitlines()
        kept = [line for line in lines if not self._is_later(line, step)]
        if len(kept) < len(lines):
            self.rows.write_text("".join(f"{line}\n" for line in kept))

    def _is_later(self, line: str, step: int) -> bool:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # a row truncated by a kill
            return True
        return bool(row["stage"] == self.stage and row["step"] > step)


def compared(stage: str, metric: str, value: float, naive: Mapping[str, float]) -> str:
    """A metric beside a naive guess and the values with which shipped models ended the stage."""
    found = [f"naive guess {naive[metric]:.3f}"] if metric in naive else []
    ended = shipped_values(stage, metric)
    if ended:
        span = " to ".join(dict.fromkeys(f"{one:.3f}" for one in (min(ended), max(ended))))
        found.append(f"shipped models ended at {span}")
    return f" | {metric} {value:.3f}: {', '.join(found)}" if found else ""


@lru_cache(maxsize=64)
def shipped_values(stage: str, metric: str) -> tuple[float, ...]:
    """The values of a validation metric in the cards of the shipped models."""
    part, _, name = stage.partition(".")
    found = []
    for path in sorted(shipped_folder().glob(f"*/{CARD}")):
        entry = read_card(path.parent).parts.get(part)
        record = {} if entry is None else entry.training.get(name, {}).get("validation", {})
        if metric in record:
            found.append(float(record[metric]))
    return tuple(found)
