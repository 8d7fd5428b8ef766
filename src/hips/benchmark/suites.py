"""Suites of instances fixed by a seed or by level files, each with a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hips import domains
from hips.arrays import Grid
from hips.domains import Domain
from hips.errors import ConfigError, LevelError
from hips.files import read_text
from hips.seeding import SEALED, sealed_stream, stream

DEVELOPMENT = "development"
"""Source of sampled instances that settings and models may be tuned on."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One problem of a suite.

    Attributes:
        seed: seed of the sample; 0 for levels of a file.
        index: its index in the sample or among the levels.
        grid: the start state `[H, W]`.
        sha256: hash of domain, shape and cells.
    """

    seed: int
    index: int
    grid: Grid
    sha256: str


@dataclass(frozen=True)
class Suite:
    """A named family of problems.

    Attributes:
        name: name in results.
        label: name in reports.
        domain: name of a registered domain.
        variant: a named parameter set of the domain.
        parameters: parameters on top of it.
        levels: level files that replace sampled instances.
        sealed: whether to draw the instances kept for final figures.
    """

    name: str
    label: str
    domain: str
    variant: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    levels: tuple[Path, ...] = ()
    sealed: bool = False

    @staticmethod
    def from_json(name: str, content: Mapping[str, Any]) -> Suite:
        """The suite of a catalogue entry."""
        try:
            return Suite(name, **{"label": name, **content})
        except TypeError as error:
            raise ConfigError(f"Suite '{name}' of the catalogue is invalid ({error}).") from None

    def of_files(self, levels: tuple[Path, ...]) -> Suite:
        """This suite with levels from files as its instances."""
        return replace(self, levels=levels)

    def on_sealed(self) -> Suite:
        """This suite with its sealed instances.

        Raises:
            ConfigError: its instances are levels of files.
        """
        if self.levels:
            raise ConfigError("Sealed instances are drawn, not read; omit --levels or --sealed.")
        return replace(self, sealed=True)

    @property
    def source(self) -> str:
        """The source of the instances, as recorded in results."""
        if not self.levels:
            return SEALED if self.sealed else DEVELOPMENT
        return "levels:" + ",".join(path.name for path in self.levels)

    def make_domain(self) -> Domain:
        """The domain of the instances."""
        return domains.create(self.domain, self.variant, **self.parameters)

    def instances(self, count: int, seed: int) -> list[Instance]:
        """The first `count` instances (fewer if the files have fewer).

        Every sampled instance has its own random stream, so a larger `count` keeps the first ones.
        """
        domain = self.make_domain()
        draw = sealed_stream if self.sealed else stream
        if self.levels:
            grids = _read(domain, self.levels)[:count]
            return [Instance(0, i, grid, fingerprint(domain, grid)) for i, grid in enumerate(grids)]
        found = []
        for index in range(count):
            rng = draw(seed, "benchmark", self.name, index)
            grid = domain.sample(rng, 1)[0]
            found.append(Instance(seed, index, grid, fingerprint(domain, grid)))
        return found


def fingerprint(domain: Domain, grid: Grid) -> str:
    """SHA-256 of an instance, in hexadecimal."""
    label = f"{domain.name} {grid.shape[0]} {grid.shape[1]} ".encode()
    return hashlib.sha256(label + grid.tobytes()).hexdigest()


def combined(hashes: list[str]) -> str:
    """SHA-256 of a set of instances, independent of their order."""
    return hashlib.sha256("".join(sorted(set(hashes))).encode()).hexdigest()


def _read(domain: Domain, files: tuple[Path, ...]) -> list[Grid]:
    levels: list[Grid] = []
    for file in files:
        try:
            found = domain.parse_many(read_text(file))
            for level in found:
                domain.for_grid(level)
        except LevelError as error:
            raise error.located(str(file)) from None
        levels += found
    return levels
