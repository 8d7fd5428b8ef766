"""Seconds to collect, load and replay demonstrations of every domain.

python -m benchmarks demonstrations [--count 1000] [--workers 2] [--domain sokoban]
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from hips import domains
from hips.data import collect, load
from hips.engines import LocalEngine


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--domain", choices=domains.names(), action="append")
    options = parser.parse_args()
    table = Table(title=f"{options.count} demonstrations, {options.workers} workers")
    for heading in ("domain", "states", "collect s", "load s", "replay s", "MiB on disk"):
        table.add_column(heading, justify="left" if heading == "domain" else "right")
    for name in options.domain or domains.names():
        table.add_row(name, *_measure(name, options.count, options.workers))
    Console().print(table)


def _measure(name: str, count: int, workers: int) -> list[str]:
    domain = domains.create(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        marks = [time.perf_counter()]
        collect(domain, count, seed=0, out=path, engine=LocalEngine(workers))
        marks.append(time.perf_counter())
        dataset = load(path)
        marks.append(time.perf_counter())
        dataset.select(np.arange(1)).replay()  # loads the compiled kernel
        marks.append(time.perf_counter())
        states = len(dataset.replay().states)
        marks.append(time.perf_counter())
        size = sum(file.stat().st_size for file in path.iterdir()) / 2**20
    seconds = [b - a for a, b in itertools.pairwise(marks)]
    collected, loaded, _, replayed = seconds
    return [str(states), f"{collected:.1f}", f"{loaded:.2f}", f"{replayed:.2f}", f"{size:.1f}"]


if __name__ == "__main__":
    main()
