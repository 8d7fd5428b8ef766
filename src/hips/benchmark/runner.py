"""Runs suites × variants × seeds; each finished run is written as one JSON line."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from hips import machine
from hips._version import __version__
from hips.benchmark import lines, seal
from hips.benchmark.experiments import Experiment, Size
from hips.benchmark.suites import Instance, Suite
from hips.benchmark.tasks import Cell, Key, Task, cells_of, cut, key_of, scheduled
from hips.benchmark.variants import Variant
from hips.domains import Domain
from hips.engines import Engine, LocalEngine
from hips.errors import ConfigError
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver


class Watcher(Protocol):
    """Observes a benchmark."""

    def begin(self, cell: Cell, done: int, total: int) -> None:
        """Called for a cell with `done` of `total` runs on file."""
        ...

    def advance(self, cell: Cell, result: Result) -> None:
        """Called when a run of a cell is on file."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What to run.

    Attributes:
        experiments: tables and figures.
        size: their scale.
        seeds: seeds of the sampled instances.
        command: the command line, for the report.
        engine: where the runs execute.
        catalogue: content of the catalogue file; None for the paper's.
        added: variants added to every table of the experiments.

    All experiments of a request have the same rules and the same sort of instances.
    """

    experiments: tuple[Experiment, ...]
    size: Size
    seeds: tuple[int, ...] = (0,)
    command: str = ""
    engine: Engine = field(default_factory=LocalEngine)
    catalogue: Mapping[str, Any] | None = None
    added: tuple[Variant, ...] = ()


@dataclass(slots=True)
class History:
    """The contents of an existing results file."""

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
                    f"{path}: has results of version {line['version']}, this is {__version__}; "
                    "versions do not mix. Choose another folder with --out."
                )
            if line["type"] == "run":
                history.done.add(key_of(line))
                place = (line["suite"], line["source"], line["seed"], line["index"])
                history.instances[place] = line["instance"]
                history.models[line["suite"], line["configuration"]] = line["model"]
        return history

    def check_instances(self, suite: Suite, instances: Sequence[Instance]) -> None:
        """Rejects instances that differ from those on file."""
        for instance in instances:
            place = (suite.name, suite.source, instance.seed, instance.index)
            if self.instances.get(place, instance.sha256) != instance.sha256:
                raise ConfigError(
                    f"Instance {instance.index} of suite '{suite.name}' ({suite.source}) has "
                    "changed since the results were made. Restore it, or choose another folder "
                    "with --out."
                )

    def check_model(self, cell: Cell, domain: Domain) -> None:
        """Rejects a model that differs from the one on file."""
        model = cell.variant.model_hash(domain)
        known = (cell.suite.name, cell.variant.configuration(domain))
        if self.models.get(known, model) != model:
            raise ConfigError(
                f"The results of '{cell.variant.name}' on '{cell.suite.name}' were made with "
                "another model; models do not mix. Choose another folder with --out."
            )


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a call of `run`.

    Attributes:
        written: runs added.
        cut_short: runs left out because time ran out.
        skipped: cells that cannot run here, with the reason.
    """

    written: int
    cut_short: int
    skipped: tuple[dict[str, str], ...]


def run(request: Request, folder: Path, watcher: Watcher | None = None) -> Summary:
    """Runs everything not yet on file, in order.

    Ctrl-C keeps every finished run on file and raises `KeyboardInterrupt`.
    """
    path = folder / lines.FILE
    invocation = uuid.uuid4().hex[:12]
    with lines.Appender(path) as out:
        history = History.read(path)
        work, skipped = _pending(request, history, watcher)
        _open_sealed(request, folder)
        out.write(_invocation_line(request, invocation, skipped))
        tasks = scheduled(work, request.size.minutes, time.time())
        before = out.written

        def record(task: Task, place: int, result: Result) -> None:
            out.write(task.line(place, result, invocation))
            if watcher is not None:
                watcher.advance(task.cell, result)

        _run_tasks(tasks, request.engine, record)
        written = out.written - before
    planned = sum(len(task.instances) for task in tasks)
    return Summary(written, planned - written, tuple(skipped))


def _pending(
    request: Request, history: History, watcher: Watcher | None
) -> tuple[list[tuple[Cell, Domain, list[tuple[Instance, ...]]]], list[dict[str, str]]]:
    """The tasks that are not on file, and the cells that cannot run."""
    size = request.size
    drawn: dict[tuple[str, str, int], list[Instance]] = {}
    work, skipped = [], []
    for cell in cells_of(request.experiments, size):
        suite, domain = cell.suite, cell.suite.make_domain()
        if reason := cell.variant.missing(domain):
            skipped.append({"suite": suite.name, "variant": cell.variant.name, "reason": reason})
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
    tasks: Sequence[Task], engine: Engine, record: Callable[[Task, int, Result], None]
) -> None:
    """Records every result as soon as this process receives it."""
    engine.run(_solve, tasks, lambda task, found: record(task, *found))


def _solve(task: Task, emit: Callable[[tuple[int, Result]], None]) -> None:
    """Solves a task and emits each result with its place."""

    def report(place: int, result: Result) -> None:
        emit((place, replace(result, start=None, domain=None)))

    if any(one.outcome is Outcome.INTERRUPTED for one in task.solve(ResultObserver(report))):
        raise KeyboardInterrupt


def _invocation_line(
    request: Request, invocation: str, skipped: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """The record of this invocation: command, machine and time."""
    sources = {
        part.suite.name: part.suite.source
        for experiment in request.experiments
        for part in experiment.parts
    }
    return {
        "type": "invocation",
        "version": __version__,
        "invocation": invocation,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": request.command,
        "experiments": [experiment.name for experiment in request.experiments],
        "rules": request.experiments[0].rules.name,
        "sealed": request.experiments[0].sealed,
        "catalogue": request.catalogue,
        "size": asdict(request.size),
        "seeds": list(request.seeds),
        "sources": sources,
        "configurations": _configurations(request),
        "added": [asdict(variant) for variant in request.added],
        "skipped": list(skipped),
        "environment": machine.describe(),
    }


def _open_sealed(request: Request, folder: Path) -> None:
    """Records that sealed instances are opened, with everything that they are searched with."""
    searches: dict[str, dict[str, str | None]] = {}
    for experiment in request.experiments:
        for part in experiment.parts if experiment.sealed else ():
            domain = part.suite.make_domain()
            for row in part.rows:
                for one in row.variant.members(domain):
                    if not one.missing(domain):
                        models = searches.setdefault(part.suite.name, {})
                        models[one.configuration(domain)] = one.model_hash(domain)
    if searches:
        seal.record_opening(folder, searches, request.command)


def _configurations(request: Request) -> dict[str, dict[str, list[str]]]:
    """The configurations of every row that can run, one per model, by suite and variant name."""
    found: dict[str, dict[str, list[str]]] = {}
    for experiment in request.experiments:
        for part in experiment.parts:
            domain = part.suite.make_domain()
            own = found.setdefault(part.suite.name, {})
            for row in part.rows:
                members = [v for v in row.variant.members(domain) if not v.missing(domain)]
                if members:
                    own[row.variant.name] = [v.configuration(domain) for v in members]
    return found
