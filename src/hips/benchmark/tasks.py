"""The work of a benchmark: cells of suite and variant, divided into tasks for processes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hips._version import __version__
from hips.benchmark.experiments import Experiment, Part, Size
from hips.benchmark.suites import Instance, Suite
from hips.benchmark.variants import Variant
from hips.domains import Domain
from hips.domains.handles import DomainHandle
from hips.methods.jobs import SolveJob
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.rounds import Observer

Key: TypeAlias = tuple[str, str, int, int, str, bool, int | None, float | None]
SHARE_OF_WINDOW = 0.5
"""Share of a cell's time that one lockstep batch may take, so that other cells get their turn."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of each search of a cell, as recorded in results.

    Attributes:
        timed: whether searches run one at a time, under a limit of seconds.
        expansions: maximum number of expansions, or None.
        seconds: maximum seconds of a timed search, or None.
    """

    timed: bool
    expansions: int | None
    seconds: float | None

    @staticmethod
    def of(size: Size, experiment: Experiment, part: Part) -> Limits:
        """The limits of a size: seconds if searches are timed, expansions if not.

        A table that reports success only up to some number of expansions needs no more.
        """
        if experiment.timed:
            return Limits(True, None, size.seconds)
        return Limits(False, int(min(size.expansions, part.most_expansions())), None)


@dataclass(frozen=True, slots=True)
class Cell:
    """A suite and a variant under limits."""

    suite: Suite
    variant: Variant
    limits: Limits

    def key(self, domain: Domain, seed: int, index: int) -> Key:
        """Identifies a run, independent of the experiment that requested it."""
        return (
            self.suite.name,
            self.suite.source,
            seed,
            index,
            self.variant.configuration(domain),
            self.limits.timed,
            self.limits.expansions,
            self.limits.seconds,
        )


def key_of(line: dict[str, Any]) -> Key:
    """The key of a run on file."""
    return (
        line["suite"],
        line["source"],
        line["seed"],
        line["index"],
        line["configuration"],
        line["timed"],
        line["limit_expansions"],
        line["limit_seconds"],
    )


@dataclass(frozen=True, slots=True)
class Task:
    """Instances of one cell that one process solves together.

    Attributes:
        cell: suite, variant and limits.
        instances: the problems.
        handle: recreates the domain in another process.
        model: fingerprint of the model, or None.
        deadline: `time.time()` after which it no longer starts, or None.
        seconds: maximum seconds of the whole lockstep batch, or None.
    """

    cell: Cell
    instances: tuple[Instance, ...]
    handle: DomainHandle
    model: str | None
    deadline: float | None = None
    seconds: float | None = None

    def solve(self, observer: Observer | None = None) -> list[Result]:
        """Solves the instances in the calling process; nothing after the deadline."""
        if self.deadline is not None and time.time() > self.deadline:
            return []
        limits = self.cell.limits
        budget = Budget(
            limits.expansions,
            limits.seconds if limits.timed else None,
            max_total_seconds=None if limits.timed else self.seconds,
        )
        domain = self.handle.open()
        batch = 1 if limits.timed else len(self.instances)
        choice = self.cell.variant.choice(domain, batch, self.model)
        levels = [instance.grid for instance in self.instances]
        found = SolveJob(choice, budget).solve(domain, levels, observer)
        return [replace(result, start=None, domain=None) for result in found]

    def line(self, place: int, result: Result, invocation: str) -> dict[str, Any]:
        """The record of one run: everything needed to repeat and to evaluate it."""
        instance, cell = self.instances[place], self.cell
        domain = self.handle.open()
        sized = domain.for_grid(instance.grid)
        content = result.to_json()
        del content["seed"]
        return {
            "type": "run",
            "version": __version__,
            "invocation": invocation,
            "suite": cell.suite.name,
            "source": cell.suite.source,
            "domain": domain.name,
            "parameters": sized.parameters(),
            "seed": instance.seed,
            "index": instance.index,
            "instance": instance.sha256,
            "level": sized.text(instance.grid),
            "variant": cell.variant.name,
            "configuration": cell.variant.configuration(domain),
            "timed": cell.limits.timed,
            "limit_expansions": cell.limits.expansions,
            "limit_seconds": cell.limits.seconds,
            **content,
            "model": self.model,
        }


def cells_of(experiments: Iterable[Experiment], size: Size) -> list[Cell]:
    """All cells of experiments, without duplicates."""
    found: dict[tuple[Any, ...], Cell] = {}
    for experiment in experiments:
        for part in experiment.parts:
            limits = Limits.of(size, experiment, part)
            domain = part.suite.make_domain()
            for row in part.rows:
                for variant in row.variant.members(domain) or (row.variant,):
                    cell = Cell(part.suite, variant, limits)
                    found.setdefault(cell.key(domain, 0, 0), cell)
    return list(found.values())


def cut(
    cell: Cell, domain: Domain, instances: Sequence[Instance], chunk: int
) -> Iterator[tuple[Instance, ...]]:
    """Tasks of instances of one seed in lockstep; timed instances one at a time."""
    width = 1 if cell.limits.timed else chunk
    for seed in sorted({instance.seed for instance in instances}):
        own = [instance for instance in instances if instance.seed == seed]
        for first in range(0, len(own), width):
            yield tuple(own[first : first + width])


def scheduled(
    chunks: Sequence[tuple[Cell, Domain, list[tuple[Instance, ...]]]],
    minutes: float | None,
    began: float,
) -> list[Task]:
    """Tasks in order, with deadlines that divide the time evenly among the cells.

    A cell that finishes early leaves its time to later ones.
    """
    tasks: list[Task] = []
    window = None if minutes is None else 60 * minutes / max(1, len(chunks))
    for number, (cell, domain, parts) in enumerate(chunks, start=1):
        deadline = None if window is None else began + number * window
        seconds = None if window is None else SHARE_OF_WINDOW * window
        handle, model = DomainHandle.of(domain), cell.variant.model_hash(domain)
        tasks += [Task(cell, part, handle, model, deadline, seconds) for part in parts]
    return tasks
