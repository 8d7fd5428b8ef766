"""Levels per second and core, bytes per level, and what a million levels cost."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path

import numpy as np

from hips import data, domains
from hips.arrays import Grids
from hips.data import labels
from hips.domains.base import Domain
from hips.domains.defaults import all_levels
from hips.engines import LocalEngine
from hips.files import file_lines
from hips.json_lines import Appender
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob
from hips.methods.streams import solve_on
from hips.planner.budget import Budget
from hips.planner.rounds import ResultObserver
from hips.practice.exploring import Exploration, explore
from hips.seeding import stream

MILLION = 1_000_000
ONE_CORE = Choice(execution=Execution(threads=1))
Measure = Callable[[Domain, Grids, Path], Path]


def measure_solve(domain: Domain, levels: Grids, folder: Path) -> Path:
    """Solves levels; the results."""
    job = SolveJob(ONE_CORE, Budget(max_expansions=1_000))
    with Appender(folder / "results.jsonl") as out:
        observer = ResultObserver(lambda _, result: out.write(result.to_json()))
        solve_on(LocalEngine(1), domain, enumerate(levels), job, observer)
    return out.path


def measure_collect(domain: Domain, levels: Grids, folder: Path) -> Path:
    """Collects demonstrations; the dataset."""
    data.collect(domain, len(levels), 0, folder / "data", levels=list(levels))
    return folder / "data"


def measure_explore(domain: Domain, levels: Grids, folder: Path) -> Path:
    """Searches levels and labels the states; the labels."""
    found = explore(domain, list(levels), Exploration(choice=ONE_CORE))
    labels.save(found, folder / "labels.npz")
    return folder / "labels.npz"


MEASURES: dict[str, Measure] = {
    "solve": measure_solve,
    "collect": measure_collect,
    "explore": measure_explore,
}


def timed(measure: Measure, domain: Domain, levels: Grids) -> tuple[float, int]:
    """Processor seconds and bytes; a first level warms everything up."""
    with tempfile.TemporaryDirectory() as folder:
        measure(domain, levels[:1], Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        made = measure(domain, levels, Path(folder))
        seconds = time.process_time() - began
        files = [made] if made.is_file() else list(made.iterdir())
        return seconds, sum(path.stat().st_size for path in files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--domain", action="append", choices=domains.names())
    parser.add_argument("--task", action="append", choices=tuple(MEASURES))
    parser.add_argument("--levels", type=Path, help="levels of one domain instead of sampled ones")
    options = parser.parse_args()
    print("| domain | task | levels/s/core | bytes/level | a million: core hours | GB |")
    print("|---|---|---|---|---|---|")
    for name, task in product(options.domain or domains.names(), options.task or MEASURES):
        domain = domains.create(name)
        if options.levels is None:
            levels = domain.sample(stream(0, "throughput"), options.count)
        else:
            scanned = islice(domain.scan(file_lines(options.levels)), options.count)
            levels = np.stack([level.grid for level in all_levels(scanned)])
        seconds, size = timed(MEASURES[task], domain, levels)
        count = len(levels)
        hours, gigabytes = seconds / count * MILLION / 3600, size / count * MILLION / 1e9
        rate = f"{count / seconds:.3g} | {size / count:.0f}"
        print(f"| {name} | {task} | {rate} | {hours:.3g} | {gigabytes:.3g} |", flush=True)


if __name__ == "__main__":
    main()
