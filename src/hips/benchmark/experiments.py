"""The catalogue of sizes, methods, suites and experiments, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from hips import methods
from hips.benchmark.metrics import RESOURCES
from hips.benchmark.rules import FULL, Rules
from hips.benchmark.suites import Suite
from hips.benchmark.variants import Variant, check
from hips.errors import ConfigError, HipsError
from hips.files import read_json
from hips.registry import Registry

DATA = Path(__file__).parent / "data"
CATALOGUE = DATA / "experiments.json"
EXPANSIONS = "expansions"
MEAN = "mean"
"""A point: the mean cost of solved instances."""
Point: TypeAlias = float | str | None
"""An amount of the resource; None for the limit of the run; or `MEAN`."""


@dataclass(frozen=True, slots=True)
class Size:
    """The scale at which an experiment is run.

    Attributes:
        problems: instances per suite and seed.
        timed_problems: instances where each search is timed by itself.
        expansions: limit of each search.
        seconds: limit of each timed search.
        chunk: searches in lockstep.
        minutes: time for the whole experiment; None for no limit.
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
                raise ConfigError(f"{name} = {getattr(self, name)} is invalid; give 1 or more.")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: a method with settings, and its cost metric.

    Attributes:
        name: key of the published row.
        label: name in reports.
        variant: the method with its settings.
        resource: name of the metric on the x-axis.
        rules: the only rule set under which it appears; None for any.
    """

    name: str
    label: str
    variant: Variant
    resource: str
    rules: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of an experiment on one suite.

    Attributes:
        suite: the instances.
        rows: the methods.
        points: amounts of the resource at which success is reported.
        solved_by: row whose solved instances are the only ones to count, if given.
        ratio_to: reference row of a figure of unsolved ratios, if given.
        shares: whether to include figures of the share of low-level actions.
        reference: row with which the others are compared in pairs; None for the last.
    """

    suite: Suite
    rows: tuple[Row, ...]
    points: tuple[Point, ...]
    solved_by: str | None = None
    ratio_to: str | None = None
    shares: bool = False
    reference: str | None = None

    def most_expansions(self) -> float:
        """The number of expansions after which no point of the table changes."""
        counted = all(row.resource == EXPANSIONS for row in self.rows)
        amounts = [point for point in self.points if isinstance(point, int | float)]
        return max(amounts) if counted and len(amounts) == len(self.points) else math.inf


@dataclass(frozen=True, slots=True)
class Swap:
    """Rows that exchange parts of one model for those of another.

    Attributes:
        method: name of the method.
        base: the model whose parts are exchanged; `{domain}` stands for the domain's name.
        donor: the model that the other parts come from.
        named: a named set of settings, or None.
    """

    method: str
    base: str
    donor: str
    named: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of the paper, or one of our own.

    Attributes:
        name: name on the command line.
        title: heading.
        about: one sentence for the reader.
        timed: whether searches run one at a time under a limit of seconds.
        parts: one per suite.
        allowed: names of the rule sets under which it can run; the first is the default.
        rules: the rule set of its rows.
        swap: whether its rows are made of two models (see `hips.benchmark.swaps`).
    """

    name: str
    title: str
    about: str
    timed: bool
    parts: tuple[Part, ...]
    allowed: tuple[str, ...] = (FULL.name,)
    rules: Rules = FULL
    swap: Swap | None = None

    @property
    def sealed(self) -> bool:
        """Whether it runs on sealed instances."""
        return any(part.suite.sealed for part in self.parts)

    @property
    def key(self) -> str:
        """Names the experiment among all rule sets and sorts of instances."""
        marks = [self.rules.name] * (self.rules.name != self.allowed[0]) + ["sealed"] * self.sealed
        return "-".join([self.name, *marks])

    def under(self, rules: Rules) -> Experiment:
        """The same experiment under a rule set, with the rows that belong to it.

        Raises:
            ConfigError: it cannot run under these rules, or a row breaks them.
        """
        if rules.name not in self.allowed:
            raise ConfigError(
                f"Experiment '{self.name}' does not run under the rules '{rules.name}'. "
                f"Allowed: {', '.join(self.allowed)}."
            )
        admitted = self._with_rows(
            lambda rows: tuple(
                replace(row, variant=rules.apply(row.variant))
                for row in rows
                if rules.admits(row.rules) and rules.admits(row.variant.rules)
            )
        )
        parts = tuple(part for part in admitted.parts if part.rows or self.swap is not None)
        return replace(admitted, rules=rules, parts=parts)

    def on_sealed(self) -> Experiment:
        """The same experiment on the sealed instances of its suites."""
        parts = tuple(replace(part, suite=part.suite.on_sealed()) for part in self.parts)
        return replace(self, parts=parts)

    def restricted(self, suites: tuple[str, ...], names: tuple[str, ...]) -> Experiment:
        """Only the given suites and methods of this experiment; unknown ones are ignored."""
        parts = []
        for part in self.parts:
            rows = tuple(r for r in part.rows if not names or r.variant.name in names)
            if (rows or self.swap) and (not suites or part.suite.name in suites):
                parts.append(replace(part, rows=rows))
        return replace(self, parts=tuple(parts))

    def with_levels(self, levels: Mapping[str, tuple[Path, ...]]) -> Experiment:
        """The same experiment on levels from files, by name of the suite."""
        parts = tuple(
            replace(part, suite=part.suite.of_files(levels[part.suite.name]))
            if part.suite.name in levels
            else part
            for part in self.parts
        )
        return replace(self, parts=parts)

    def with_model(self, model: str) -> Experiment:
        """The same experiment with one model for all methods that use one."""
        return self._with_rows(
            lambda rows: tuple(replace(r, variant=r.variant.with_model(model)) for r in rows)
        )

    def with_variants(self, variants: tuple[Variant, ...]) -> Experiment:
        """The same experiment with additional rows, unless it already has them."""

        def added(rows: tuple[Row, ...]) -> tuple[Row, ...]:
            present = {row.variant.name for row in rows}
            resource = rows[0].resource if rows else EXPANSIONS
            return (
                *rows,
                *(Row(v.name, v.label, v, resource) for v in variants if v.name not in present),
            )

        return self._with_rows(added)

    def _with_rows(self, change: Callable[[tuple[Row, ...]], tuple[Row, ...]]) -> Experiment:
        return replace(
            self, parts=tuple(replace(part, rows=change(part.rows)) for part in self.parts)
        )


class Catalogue:
    """Everything that can be run, looked up by name."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.sizes: Registry[Size] = Registry("size")
        self.rules: Registry[Rules] = Registry("set of rules")
        self.methods: Registry[Variant] = Registry("method")
        self.suites: Registry[Suite] = Registry("suite")
        self.experiments: Registry[Experiment] = Registry("experiment")
        for name, fields in content["sizes"].items():
            self.sizes.register(name)(Size(**fields))
        for name, fields in content.get("rules", {FULL.name: {"label": FULL.label}}).items():
            self.rules.register(name)(Rules.from_json(name, fields))
        for name, fields in content["methods"].items():
            self.methods.register(name)(Variant.from_json(name, fields))
        for name, fields in content["suites"].items():
            self.suites.register(name)(Suite.from_json(name, fields))
        for name, fields in content["experiments"].items():
            self.experiments.register(name)(self._experiment(name, fields))

    def _experiment(self, name: str, fields: Mapping[str, Any]) -> Experiment:
        resource = fields.get("resource", EXPANSIONS)
        parts = tuple(self._part(part, resource) for part in fields["parts"])
        swap = fields.get("swap")
        return Experiment(
            name,
            fields["title"],
            fields.get("about", ""),
            bool(fields.get("timed", False)),
            parts,
            tuple(fields.get("rules", self.rules.names()[:1])),
            swap=None if swap is None else Swap(**swap),
        )

    def _part(self, fields: Mapping[str, Any], resource: str) -> Part:
        rows = tuple(self._row(row, resource) for row in fields.get("rows", ()))
        return Part(
            self.suites.get(fields["suite"]),
            rows,
            tuple(fields["points"]),
            fields.get("solved_by"),
            fields.get("ratio_to"),
            bool(fields.get("shares", False)),
            fields.get("reference"),
        )

    def _row(self, entry: str | Mapping[str, str], resource: str) -> Row:
        fields = {"method": entry} if isinstance(entry, str) else entry
        variant = self.methods.get(fields["method"])
        counted = fields.get("resource", resource)
        RESOURCES.get(counted)
        name = fields.get("name", variant.name)
        label = fields.get("label", variant.label)
        return Row(name, label, variant, counted, fields.get("rules"))

    def find_variant(self, name: str) -> Variant:
        """An entry of the catalogue, or else a registered method with its defaults."""
        if name not in self.methods and name in methods.names():
            return Variant.of_method(methods.get(name))
        return self.methods.get(name)

    def check(self) -> None:
        """Rejects entries with unknown methods or settings, and tables that mix rule sets."""
        for name in self.methods:
            check(self.methods.get(name))
        for name in self.experiments:
            experiment = self.experiments.get(name)
            for rules in experiment.allowed:
                experiment.under(self.rules.get(rules))

    def find(self, name: str, rules: str | None = None) -> Experiment:
        """An experiment under a rule set; the default is the experiment's first."""
        experiment = self.experiments.get(name)
        return experiment.under(self.rules.get(rules or experiment.allowed[0]))


@lru_cache(maxsize=4)
def load(path: Path | None = None) -> Catalogue:
    """The catalogue in a JSON file; the default is that of the paper's experiments."""
    path = CATALOGUE if path is None else path
    try:
        catalogue = Catalogue(read_json(path))
        catalogue.check()
    except HipsError as error:
        raise type(error)(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: not a catalogue of experiments ({error!r}).") from None
    return catalogue
