"""The catalogue: sizes, methods, suites and experiments by name, all of it data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from hips.benchmark.methods import Method
from hips.benchmark.metrics import RESOURCES
from hips.benchmark.suites import Suite
from hips.errors import ConfigError, HipsError
from hips.files import read_json
from hips.registry import Registry

DATA = Path(__file__).parent / "data"
CATALOGUE = DATA / "experiments.json"
EXPANSIONS = "expansions"
MEAN = "mean"
"""A point that stands for the mean amount of the resource on solved instances."""
Point: TypeAlias = float | str | None
"""An amount of the resource; None for as much as the run allowed; or `MEAN`."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of an experiment is run.

    Attributes:
        problems: instances of each suite and seed.
        timed_problems: instances where every search is timed on its own.
        expansions: limit of each search.
        seconds: limit of each timed search.
        chunk: searches in lockstep.
        minutes: time for the whole experiment; None for as long as it takes.
    """

    problems: int
    timed_problems: int
    expansions: int
    seconds: float
    chunk: int
    minutes: float | None

    def __post_init__(self) -> None:
        for name in ("problems", "timed_problems", "chunk"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} {getattr(self, name)} is impossible; give 1 or more.")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: a method, and what is counted as its cost.

    Attributes:
        name: key of the published row.
        label: what reports call it.
        method: the method.
        resource: name of the metric on the x-axis.
    """

    name: str
    label: str
    method: Method
    resource: str


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of an experiment on one suite.

    Attributes:
        suite: the instances.
        rows: the methods.
        points: amounts of the resource at which success is read off.
        solved_by: only instances that this row solves count, if given.
        ratio_to: a figure divides the unsolved instances by those of this row, if given.
        shares: whether figures of the share of low-level actions belong to it.
    """

    suite: Suite
    rows: tuple[Row, ...]
    points: tuple[Point, ...]
    solved_by: str | None = None
    ratio_to: str | None = None
    shares: bool = False

    def most_expansions(self) -> float:
        """After how many expansions no point of the table changes any more."""
        counted = all(row.resource == EXPANSIONS for row in self.rows)
        amounts = [point for point in self.points if isinstance(point, int | float)]
        return max(amounts) if counted and len(amounts) == len(self.points) else math.inf


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of the paper, or one of our own.

    Attributes:
        name: what the command line calls it.
        title: heading.
        about: one sentence for the reader.
        timed: whether searches run one at a time under a limit of seconds.
        parts: one per suite.
    """

    name: str
    title: str
    about: str
    timed: bool
    parts: tuple[Part, ...]

    def restricted(self, suites: tuple[str, ...], methods: tuple[str, ...]) -> Experiment:
        """Only some suites and methods of this experiment; those it does not have are ignored."""
        parts = []
        for part in self.parts:
            rows = tuple(r for r in part.rows if not methods or r.method.name in methods)
            if rows and (not suites or part.suite.name in suites):
                parts.append(replace(part, rows=rows))
        return replace(self, parts=tuple(parts))

    def with_levels(self, levels: Mapping[str, tuple[Path, ...]]) -> Experiment:
        """The same experiment on the levels of files, by name of the suite."""
        parts = tuple(
            replace(part, suite=part.suite.of_files(levels[part.suite.name]))
            if part.suite.name in levels
            else part
            for part in self.parts
        )
        return replace(self, parts=parts)

    def with_model(self, model: str) -> Experiment:
        """The same experiment with one model for all searches."""
        parts = tuple(
            replace(
                part,
                rows=tuple(replace(r, method=replace(r.method, model=model)) for r in part.rows),
            )
            for part in self.parts
        )
        return replace(self, parts=parts)


class Catalogue:
    """Everything that can be run, looked up by name."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.sizes: Registry[Size] = Registry("size")
        self.methods: Registry[Method] = Registry("method")
        self.suites: Registry[Suite] = Registry("suite")
        self.experiments: Registry[Experiment] = Registry("experiment")
        for name, fields in content["sizes"].items():
            self.sizes.register(name)(Size(**fields))
        for name, fields in content["methods"].items():
            self.methods.register(name)(Method.from_json(name, fields))
        for name, fields in content["suites"].items():
            self.suites.register(name)(Suite.from_json(name, fields))
        for name, fields in content["experiments"].items():
            self.experiments.register(name)(self._experiment(name, fields))

    def _experiment(self, name: str, fields: Mapping[str, Any]) -> Experiment:
        resource = fields.get("resource", EXPANSIONS)
        parts = tuple(self._part(part, resource) for part in fields["parts"])
        timed = bool(fields.get("timed", False))
        return Experiment(name, fields["title"], fields.get("about", ""), timed, parts)

    def _part(self, fields: Mapping[str, Any], resource: str) -> Part:
        rows = tuple(self._row(row, resource) for row in fields["rows"])
        return Part(
            self.suites.get(fields["suite"]),
            rows,
            tuple(fields["points"]),
            fields.get("solved_by"),
            fields.get("ratio_to"),
            bool(fields.get("shares", False)),
        )

    def _row(self, entry: str | Mapping[str, str], resource: str) -> Row:
        fields = {"method": entry} if isinstance(entry, str) else entry
        method = self.methods.get(fields["method"])
        counted = fields.get("resource", resource)
        RESOURCES.get(counted)
        name = fields.get("name", method.name)
        return Row(name, fields.get("label", method.label), method, counted)


@lru_cache(maxsize=4)
def load(path: Path | None = None) -> Catalogue:
    """The catalogue in a JSON file; by default the one of the paper's experiments."""
    path = CATALOGUE if path is None else path
    try:
        return Catalogue(read_json(path))
    except HipsError as error:
        raise type(error)(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: not a catalogue of experiments ({error!r}).") from None
