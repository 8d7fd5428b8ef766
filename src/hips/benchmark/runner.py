"""Runs suites × methods × seeds; every run is one JSON line, written when it is finished."""

from __future__ import annotations

import os
import platform
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from hips import workers
from hips._version import __version__
from hips.benchmark import lines
from hips.benchmark.experiments import Experiment, Size
from hips.benchmark.suites import Instance, Suite
from hips.benchmark.tasks import Cell, Key, Task, cells_of, cut, key_of, scheduled
from hips.domains import Domain
from hips.errors import ConfigError
from hips.planner.outcomes import Outcome
from hips.planner.result import Result

PACKAGES = ("numpy", "numba", "onnxruntime")


class Watcher(Protocol):
    """Looks on while a benchmark runs."""

    def begin(self, cell: Cell, done: int, total: int) -> None:
        """A cell with `done` of `total` runs on file."""
        ...

    def advance(self, cell: Cell, result: Result) -> None:
        """One run of a cell is on file."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What to run.

    Attributes:
        experiments: tables and figures.
        size: how much of them.
        seeds: seeds of the drawn instances.
        command: how it was asked for, for the report.
        workers: processes.
        catalogue: content of the file the experiments come from; None for the paper's.
    """

    experiments: tuple[Experiment, ...]
    size: Size
    seeds: tuple[int, ...] = (0,)
    command: str = ""
    workers: int = 1
    catalogue: Mapping[str, Any] | None = None


@dataclass(slots=True)
class History:
    """What a file of results already holds."""

    done: set[Key] = field(default_factory=set)
    instances: dict[tuple[str, str, int, int], str] = field(default_factory=dict)
    models: dict[tuple[str, str], str | None] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> History:
        """The history in a file, which must be of this version."""
        history = History()
        for line in lines.read(path) if path.is_file() else ():
            if line["version"] != __version__:
                raise ConfigError(
                    f"{path}: results of version {line['version']}, this is {__version__}; "
                    "versions do not mix. Choose another folder with --out."
                )
            if line["type"] == "run":
                history.done.add(key_of(line))
                place = (line["suite"], line["source"], line["seed"], line["index"])
                history.instances[place] = line["instance"]
                history.models[line["suite"], line["configuration"]] = line["model"]
        return history

    def check_instances(self, suite: Suite, instances: Sequence[Instance]) -> None:
        """Refuses instances that are not those on file."""
        for instance in instances:
            place = (suite.name, suite.source, instance.seed, instance.index)
            if self.instances.get(place, instance.sha256) != instance.sha256:
                raise ConfigError(
                    f"Instance {instance.index} of suite '{suite.name}' ({suite.source}) has "
                    "changed since the results were made. Restore it, or choose another folder "
                    "with --out."
                )

    def check_model(self, cell: Cell, domain: Domain) -> None:
        """Refuses a model that is not the one on file."""
        model = cell.method.model_hash(domain)
        known = (cell.suite.name, cell.method.configuration(domain))
        if self.models.get(known, model) != model:
            raise ConfigError(
                f"The results of '{cell.method.name}' on '{cell.suite.name}' were made with "
                "another model; models do not mix. Choose another folder with --out."
            )


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call of `run` did.

    Attributes:
        written: runs that were added.
        cut_short: runs that were left out because the time was over.
        skipped: cells that cannot run here, with the reason.
    """

    written: int
    cut_short: int
    skipped: tuple[dict[str, str], ...]


def run(request: Request, folder: Path, watcher: Watcher | None = None) -> Summary:
    """Runs what is not yet on file, in order; nothing twice.

    Ctrl-C leaves every finished run on file and raises `KeyboardInterrupt`.
    """
    path = folder / lines.FILE
    session = uuid.uuid4().hex[:12]
    with lines.Appender(path) as out:
        history = History.read(path)
        work, skipped = _pending(request, history, watcher)
        out.write(_session_line(request, session, skipped))
        tasks = scheduled(work, request.size.minutes, time.time())
        before = out.written

        def record(task: Task, place: int, result: Result) -> None:
            out.write(task.line(place, result, session))
            if watcher is not None:
                watcher.advance(task.cell, result)

        _run_tasks(tasks, request.workers, record)
        written = out.written - before
    planned = sum(len(task.instances) for task in tasks)
    return Summary(written, planned - written, tuple(skipped))


def _pending(
    request: Request, history: History, watcher: Watcher | None
) -> tuple[list[tuple[Cell, Domain, list[tuple[Instance, ...]]]], list[dict[str, str]]]:
    """The chunks of every cell that are not on file, and the cells that cannot run."""
    size = request.size
    drawn: dict[tuple[str, str, int], list[Instance]] = {}
    work, skipped = [], []
    for cell in cells_of(request.experiments, size):
        suite, domain = cell.suite, cell.suite.make_domain()
        if reason := cell.method.missing(domain):
            skipped.append({"suite": suite.name, "method": cell.method.name, "reason": reason})
            continue
        history.check_model(cell, domain)
        count = size.timed_problems if cell.limits.timed else size.problems
        place = (suite.name, suite.source, count)
        if place not in drawn:
            drawn[place] = _instances(suite, count, request.seeds)
            history.check_instances(suite, drawn[place])
        todo = [i for i in drawn[place] if cell.key(domain, i.seed, i.index) not in history.done]
        if watcher is not None:
            watcher.begin(cell, len(drawn[place]) - len(todo), len(drawn[place]))
        if todo:
            work.append((cell, domain, list(cut(cell, domain, todo, size.chunk))))
    return work, skipped


def _instances(suite: Suite, count: int, seeds: Sequence[int]) -> list[Instance]:
    if suite.levels:
        return suite.instances(count, 0)
    return [instance for seed in seeds for instance in suite.instances(count, seed)]


def _run_tasks(
    tasks: Sequence[Task], num_workers: int, record: Callable[[Task, int, Result], None]
) -> None:
    """Records every result as soon as this process knows it."""
    if num_workers > 1:
        for task, found in workers.run(Task.solve, tasks, num_workers):
            for place, result in enumerate(found):
                record(task, place, result)
        return
    for task in tasks:
        found = task.solve(partial(record, task))
        if any(result.outcome is Outcome.INTERRUPTED for result in found):
            raise KeyboardInterrupt


def _session_line(
    request: Request, session: str, skipped: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """Who asked for what, where and when."""
    sources = {
        part.suite.name: part.suite.source
        for experiment in request.experiments
        for part in experiment.parts
    }
    return {
        "type": "session",
        "version": __version__,
        "session": session,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": request.command,
        "experiments": [experiment.name for experiment in request.experiments],
        "catalogue": request.catalogue,
        "size": asdict(request.size),
        "seeds": list(request.seeds),
        "sources": sources,
        "skipped": list(skipped),
        "environment": environment(),
    }


def environment() -> dict[str, Any]:
    """The machine and the packages that results depend on."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        **{package: metadata.version(package) for package in PACKAGES},
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
        return next(x.split(":", 1)[1].strip() for x in text.splitlines() if "model name" in x)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
