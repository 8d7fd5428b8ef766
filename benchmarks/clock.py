"""Time of HIPS-ε under several settings, as a ratio to PHS* with the same model.

    python -m benchmarks clock [DOMAIN] [--levels FILE] [--count N] [--seed N] [--seconds S]
        [--set "NAME=VALUE …" …]

Levels are solved one at a time with one thread. Every level is solved by all rows in turn before
the next one, so that a busy machine slows all of them alike; the time is that of the processor.
Without `--set` the only row besides PHS* is HIPS-ε with the settings of the model's card; without a
domain, all that have a model are measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hips import domains
from hips.arrays import Grid
from hips.domains import Domain
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models import bundle
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.settings import from_values
from hips.seeding import stream

HEADINGS = ("solved", "ratio", "ms", "worst", "expansions", "rows", "ms each", "length")


@dataclass(slots=True)
class Row:
    """One way to solve the levels.

    Attributes:
        name: shown in the table.
        planner: solves.
        seconds: of the processor, one per level.
        results: one per level.
    """

    name: str
    planner: Planner
    seconds: list[float] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def solve(self, level: Grid, budget: Budget) -> None:
        """Solves one level and takes its time."""
        began = time.process_time()
        self.results.append(self.planner.solve(level, budget))
        self.seconds.append(time.process_time() - began)

    def cells(self, reference: Row) -> Iterator[str]:
        """The row of the table; ratios to the `reference`."""
        seconds, base = np.array(self.seconds), np.array(reference.seconds)
        statistics = [result.statistics for result in self.results]
        expansions = sum(one.expansions for one in statistics)
        lengths = [len(result.plan) for result in self.results if result.solved]
        yield f"{len(lengths)}/{len(self.results)}"
        yield f"{seconds.sum() / base.sum():.2f}"
        yield f"{1000 * seconds.mean():.1f}"
        yield f"{(seconds / base).max():.1f}"
        yield f"{expansions / len(statistics):.1f}"
        yield f"{np.mean([one.network_rows for one in statistics]):.0f}"
        yield f"{1000 * seconds.sum() / max(1, expansions):.2f}"
        yield f"{np.mean(lengths):.1f}" if lengths else "–"


def main() -> None:
    arguments = _arguments()
    for name in [arguments.domain] if arguments.domain else bundle.installed():
        domain = domains.create(name)
        levels = _levels(domain, arguments.levels, arguments.count, arguments.seed)
        measure(domain, levels, arguments.set, Budget(max_seconds=arguments.seconds))


def measure(domain: Domain, levels: Sequence[Grid], texts: Sequence[str], budget: Budget) -> None:
    """Solves the levels with PHS* and with HIPS-ε under the settings `texts`; prints a table."""
    rows = [Row("PHS*", _planner(domain, "phs_star", ""))]
    rows += [Row(text or "HIPS-ε", _planner(domain, "hips_eps", text)) for text in texts]
    for row in rows:  # loads and compiles
        row.planner.solve(levels[0], Budget(max_expansions=3))
    for level in levels:
        for row in rows:
            row.solve(level, budget)
    print(f"{domain.name}, {len(levels)} levels")
    print(f"{'':<50}" + "".join(f"{name:>11}" for name in HEADINGS))
    for row in rows:
        print(f"{row.name:<50}" + "".join(f"{cell:>11}" for cell in row.cells(rows[0])))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("domain", nargs="?", default="", help="default: all that have a model")
    parser.add_argument("--levels", type=Path, help="a file; default: drawn from the generator")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each search")
    parser.add_argument("--set", nargs="*", default=[""], help="settings of one row each")
    return parser.parse_args()


def _levels(domain: Domain, file: Path | None, count: int, seed: int) -> Sequence[Grid]:
    if file is None:
        return list(domain.sample(stream(seed, "benchmark", "clock"), count))
    return list(domain.parse_many(file.read_text())[:count])


def _planner(domain: Domain, method: str, text: str) -> Planner:
    values = dict(one.split("=", 1) for one in text.split())
    return Planner(domain, Choice(method, from_values(values), execution=Execution(1, 1)))


if __name__ == "__main__":
    main()
