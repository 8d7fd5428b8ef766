"""Results of `hips solve` as JSON lines: written as they are found, and resumed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import ConfigError, HipsError
from hips.files import is_special
from hips.json_lines import Appender, read
from hips.planner.result import Result

PERCENTILES = (50, 90)
SHOWN_DIGITS = 3
"""Significant digits of a value in the summary; so many values need a bounded number of bins."""


def level_digest(level: Grid) -> str:
    """A short hash of a level."""
    content = repr(level.shape).encode() + level.tobytes()
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def run_digest(*settings: Any) -> str:
    """A short hash of everything but the levels that determines the results."""
    return hashlib.blake2b(repr(settings).encode(), digest_size=8).hexdigest()


def make_record(domain: Domain, index: int, result: Result, run: str) -> dict[str, Any]:
    """One JSON object: the result, and the plan in the community's formats."""
    start = result.start
    digest = None if start is None else level_digest(start)
    head = {"index": index, "domain": domain.name, "level": digest, "run": run}
    record: dict[str, Any] = {**head, **result.to_json()}
    if result.solved and start is not None:
        sized = domain.for_grid(start)
        record.update(sized.plan_formats(start, sized.spec.action_indices(result.plan)))
    return record


class Earlier:
    """Results on file from earlier runs, by index of the level."""

    def __init__(self) -> None:
        self._levels: dict[int, str | None] = {}

    def load(self, path: Path, run: str, summary: Summary) -> None:
        """Reads a file of results of the same run.

        Raises:
            HipsError: it has results of another run, or something else.
        """
        with path.open("rb") as handle:
            for number, record in read(handle, path):
                try:
                    same = record["run"] == run
                    self._levels[int(record["index"])] = record["level"]
                    summary.add(record)
                except (KeyError, TypeError, ValueError):
                    raise HipsError(
                        f"{path}, line {number}: not a result of `hips solve`."
                    ) from None
                if not same:
                    raise ConfigError(
                        f"{path}: has results of other settings; repeat that command, or choose "
                        "another file with --out."
                    )

    def has(self, index: int, level: Grid | None, path: Path | None) -> bool:
        """Whether a level is on file; rejects another level of the same index."""
        if index not in self._levels:
            return False
        if level is not None and self._levels[index] not in (None, level_digest(level)):
            raise ConfigError(
                f"{path}: level {index} differs from the one on file; give the same levels, or "
                "choose another file with --out."
            )
        return True

    def __len__(self) -> int:
        return len(self._levels)


@contextmanager
def opened(path: Path | None, resume: bool, run: str, summary: Summary) -> Iterator[Output]:
    """The output of a run; checks the target before the first search."""
    earlier = Earlier()
    if path is None:
        if resume:
            raise ConfigError("--resume needs --out, the file of the interrupted run.")
        yield Output(None, earlier)
        return
    if path.is_dir():
        raise HipsError(f"{path}: is a folder; give a file.")
    with Appender(path) as appender:
        if not is_special(path):
            if path.stat().st_size and not resume:
                raise ConfigError(
                    f"{path}: already exists; add --resume to continue it, or choose another file."
                )
            earlier.load(path, run, summary)
        yield Output(appender, earlier)


class Output:
    """Where records go: a file, which may hold earlier ones."""

    def __init__(self, appender: Appender | None, earlier: Earlier) -> None:
        self.appender, self.earlier = appender, earlier

    def write(self, record: dict[str, Any]) -> None:
        """Writes a record to the file, if there is one."""
        if self.appender is not None:
            self.appender.write(record)


class Summary:
    """Counts over any number of records, in bounded memory."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._bins: dict[str, Counter[float]] = {}
        self._sums: dict[str, float] = {}
        self.only: dict[str, Any] | None = None

    def __len__(self) -> int:
        return self.outcomes.total()

    def add(self, record: dict[str, Any]) -> None:
        """Counts a record."""
        self.only = record if not len(self) else None
        self.outcomes[record["outcome"]] += 1
        for name in ("expansions", "seconds", "length"):
            if record[name] is not None:
                value = float(record[name])
                bins = self._bins.setdefault(name, Counter())
                bins[float(f"{value:.{SHOWN_DIGITS}g}")] += 1
                self._sums[name] = self._sums.get(name, 0.0) + value

    def print(self) -> None:
        """The plan of a single level, or a table over many."""
        console = Console()
        if self.only is not None:
            _print_one(console, self.only)
            return
        table = Table("", title=f"{self.outcomes['SOLVED']} of {len(self)} solved")
        for heading in ("mean", *(f"{p} %" for p in PERCENTILES), "max"):
            table.add_column(heading, justify="right")
        for name, bins in self._bins.items():
            numbers = [
                self._sums[name] / bins.total(),
                *(_percentile(bins, share) for share in PERCENTILES),
                max(bins),
            ]
            table.add_row(name, *(f"{number:.4g}" for number in numbers))
        console.print(table)
        for outcome, number in self.outcomes.items():
            if outcome != "SOLVED":
                console.print(f"{outcome}: {number}")


def _percentile(bins: Counter[float], share: int) -> float:
    place = min(bins.total() - 1, bins.total() * share // 100)
    for value in sorted(bins):
        place -= bins[value]
        if place < 0:
            return value
    return 0.0


def _print_one(console: Console, record: dict[str, Any]) -> None:
    plural = "" if record["expansions"] == 1 else "s"
    spent = f"{record['expansions']} expansion{plural}, {record['seconds']:.2f} s"
    if record["length"] is None:
        console.print(f"{record['outcome']} after {spent} {record['message']}".strip())
        return
    console.print(f"SOLVED in {record['length']} steps ({spent})")
    console.print(" ".join(record["plan"]), soft_wrap=True, highlight=False)


def as_line(record: dict[str, Any]) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False)
