"""Levels of the command line: read from files or sampled, as they are needed or all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hips.arrays import Grid
from hips.cli.options import MAX_COUNT, SeedOption, note, scan_file
from hips.domains.base import Domain
from hips.domains.records import Level
from hips.errors import LevelError
from hips.planner.outcomes import Outcome
from hips.seeding import stream

SAMPLED_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """The levels to solve."""

    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", "-l", help="Level file, - for standard input; repeatable."),
    ] = None
    count: Annotated[
        int,
        typer.Option(
            "--count", "-n", min=1, max=MAX_COUNT, help="Levels to sample, if no file is given."
        ),
    ] = 1
    seed: SeedOption = 0

    def make(self, domain: Domain) -> LevelStream:
        """The levels of the files, or sampled ones."""
        if self.levels:
            return FileLevels(domain, self.levels)
        return SampledLevels(domain, self.seed, self.count)


class LevelStream(ABC):
    """Levels in order; iterate over it once."""

    @abstractmethod
    def __iter__(self) -> Iterator[Level | LevelError]:
        """The levels, and errors in the place of those that cannot be read."""

    @property
    def total(self) -> int | None:
        """Number of levels: known, estimated, or None."""
        return None


class SampledLevels(LevelStream):
    """Levels drawn from a domain's generator."""

    def __init__(self, domain: Domain, seed: int, count: int) -> None:
        self.domain, self.seed, self.count = domain, seed, count

    def __iter__(self) -> Iterator[Level | LevelError]:
        rng = stream(self.seed, "solve")
        for first in range(0, self.count, SAMPLED_AT_ONCE):
            for grid in self.domain.sample(rng, min(SAMPLED_AT_ONCE, self.count - first)):
                yield Level(grid)

    @property
    def total(self) -> int:
        """Number of levels."""
        return self.count


class FileLevels(LevelStream):
    """Levels of files; their number is estimated from the share of the bytes read so far."""

    def __init__(self, domain: Domain, files: Sequence[Path]) -> None:
        self.domain, self.files = domain, files
        self._levels = self._read = 0
        regular = all(file.is_file() for file in files)
        self._bytes = sum(file.stat().st_size for file in files) if regular else None

    def __iter__(self) -> Iterator[Level | LevelError]:
        for file in self.files:
            for level in scan_file(self.domain, file, self._count):
                self._levels += 1
                yield level

    def _count(self, line: str) -> None:
        self._read += len(line) + 1

    @property
    def total(self) -> int | None:
        """Estimated number of levels; None before the first one and for pipes."""
        if not self._levels or self._bytes is None:
            return None
        return max(self._levels, round(self._levels * self._bytes / max(1, self._read)))


@dataclass(frozen=True, slots=True)
class ReadLevels:
    """The readable levels of files, and why others are not.

    Attributes:
        levels: at least one.
        errors: one for each level that cannot be read.
    """

    levels: list[Level]
    errors: list[LevelError]

    def report(self) -> None:
        """Prints every error; the readable levels are used all the same."""
        for error in self.errors:
            note(f"skipped a level that cannot be read: {error}")

    def exit(self) -> None:
        """Ends the command with the code for bad input, if there was any."""
        if self.errors:
            raise typer.Exit(Outcome.INVALID_INPUT.exit_code)


def read_levels(domain: Domain, files: Sequence[Path]) -> ReadLevels:
    """The levels of files, each of a size that the domain supports.

    Raises:
        LevelError: there is no readable level.
    """
    found = ReadLevels([], [])
    for file in files:
        for level in scan_file(domain, file):
            try:
                if isinstance(level, LevelError):
                    raise level
                domain.for_grid(level.grid)
                found.levels.append(level)
            except LevelError as error:
                found.errors.append(error if error.source else error.located(str(file)))
    if not found.levels:
        raise (
            found.errors[0]
            if found.errors
            else LevelError("the text has no level", 1, 1, str(files[0]))
        )
    return found


def equal_sized(domain: Domain, levels: Sequence[Level]) -> tuple[Domain, list[Grid]]:
    """The grids of levels at one size, the largest of them, and the domain at that size.

    Raises:
        LevelError: a level cannot be brought to that size.
    """
    grids = [level.grid for level in levels]
    shape = (max(grid.shape[0] for grid in grids), max(grid.shape[1] for grid in grids))
    fitted = [domain.fit(grid, shape) for grid in grids]
    for index, (grid, same) in enumerate(zip(grids, fitted, strict=True)):
        if same is None:
            raise LevelError(
                f"level {index} has {grid.shape[0]} rows and {grid.shape[1]} columns, another one "
                f"{shape[0]} and {shape[1]}; all levels of a run must have the same size"
            )
    equal = [grid for grid in fitted if grid is not None]
    return domain.for_grid(equal[0]), equal
