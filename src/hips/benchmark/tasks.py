"""What is to be run: cells of suite and method, cut into tasks that a process can take."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hips._version import __version__
from hips.benchmark.experiments import Experiment, Part, Size
from hips.benchmark.methods import Method
from hips.benchmark.suites import Instance, Suite
from hips.domains import Domain
from hips.domains.recipes import Recipe
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.search import OnResult

Key: TypeAlias = tuple[str, str, int, int, str, bool, int | None, float | None]
SHARE_OF_WINDOW = 0.5
"""Part of a cell's time that one lockstep may take, so that the next cell gets its turn."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What each search of a cell may use, as results note it.

    Attributes:
        timed: whether searches run one at a time, under a limit of seconds.
        expansions: most expansions, or None.
        seconds: most seconds of a timed search, or None.
    """

    timed: bool
    expansions: int | None
    seconds: float | None

    @staticmethod
    def of(size: Size, experiment: Experiment, part: Part) -> Limits:
        """The limits of a size: seconds if searches are timed, expansions if not.

        A table that only reads off success after so many expansions needs no more than those.
        """
        if experiment.timed:
            return Limits(True, None, size.seconds)
        return Limits(False, int(min(size.expansions, part.most_expansions())), None)


@dataclass(frozen=True, slots=True)
class Cell:
    """A suite and a method under limits."""

    suite: Suite
    method: Method
    limits: Limits

    def key(self, domain: Domain, seed: int, index: int) -> Key:
        """What makes a run the same run, whichever experiment asked for it."""
        return (
            self.suite.name,
            self.suite.source,
            seed,
            index,
            self.method.configuration(domain),
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
        cell: suite, method and limits.
        instances: the problems.
        recipe: how to make the domain in another process.
        model: fingerprint of the model, or None.
        deadline: `time.time()` after which it is not begun any more, or None.
        seconds: most seconds for the whole lockstep, or None.
    """

    cell: Cell
    instances: tuple[Instance, ...]
    recipe: Recipe
    model: str | None
    deadline: float | None = None
    seconds: float | None = None

    def solve(self, on_result: OnResult | None = None) -> list[Result]:
        """Solves the instances in the process that calls this; nothing after the deadline."""
        if self.deadline is not None and time.time() > self.deadline:
            return []
        limits = self.cell.limits
        budget = Budget(limits.expansions, limits.seconds if limits.timed else self.seconds)
        return self.cell.method.solve(
            self.recipe.create(),
            [instance.grid for instance in self.instances],
            budget,
            1 if limits.timed else len(self.instances),
            self.instances[0].seed,
            on_result,
        )

    def line(self, place: int, result: Result, session: str) -> dict[str, Any]:
        """The record of one run: all it takes to repeat and to judge it."""
        instance, cell = self.instances[place], self.cell
        domain = self.recipe.create()
        sized = domain.for_grid(instance.grid)
        content = result.to_json()
        del content["seed"]
        return {
            "type": "run",
            "version": __version__,
            "session": session,
            "suite": cell.suite.name,
            "source": cell.suite.source,
            "domain": domain.name,
            "parameters": sized.parameters(),
            "seed": instance.seed,
            "index": instance.index,
            "instance": instance.sha256,
            "level": sized.text(instance.grid),
            "method": cell.method.name,
            "configuration": cell.method.configuration(domain),
            "model": self.model,
            "timed": cell.limits.timed,
            "limit_expansions": cell.limits.expansions,
            "limit_seconds": cell.limits.seconds,
            **content,
        }


def cells_of(experiments: Iterable[Experiment], size: Size) -> list[Cell]:
    """All cells of experiments, none twice."""
    found: dict[tuple[Any, ...], Cell] = {}
    for experiment in experiments:
        for part in experiment.parts:
            limits = Limits.of(size, experiment, part)
            domain = part.suite.make_domain()
            for row in part.rows:
                cell = Cell(part.suite, row.method, limits)
                found.setdefault(cell.key(domain, 0, 0), cell)
    return list(found.values())


def cut(
    cell: Cell, domain: Domain, instances: Sequence[Instance], chunk: int
) -> Iterator[tuple[Instance, ...]]:
    """Instances in lockstep chunks of one seed; timed ones one by one."""
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

    A cell that ends early leaves its time to the later ones.
    """
    tasks: list[Task] = []
    window = None if minutes is None else 60 * minutes / max(1, len(chunks))
    for number, (cell, domain, parts) in enumerate(chunks, start=1):
        deadline = None if window is None else began + number * window
        seconds = None if window is None else SHARE_OF_WINDOW * window
        recipe, model = Recipe.of(domain), cell.method.model_hash(domain)
        tasks += [Task(cell, part, recipe, model, deadline, seconds) for part in parts]
    return tasks
