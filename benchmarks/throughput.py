"""Levels per second and core, bytes per level, and what a million levels cost."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from hips import data, domains
from hips.domains.base import Domain
from hips.engines import LocalEngine
from hips.json_lines import Appender
from hips.methods.jobs import SolveJob, solve_on
from hips.planner.budget import Budget
from hips.planner.rounds import ResultObserver
from hips.seeding import stream

MILLION = 1_000_000


def measure_solve(domain: Domain, count: int, folder: Path) -> tuple[float, int]:
    """Seconds and bytes of solving levels on one core."""
    levels = domain.sample(stream(0, "throughput"), count)
    job = SolveJob(budget=Budget(max_expansions=1_000))
    path = folder / f"{domain.name}.jsonl"
    solve_on(LocalEngine(1), domain, enumerate(levels[:1]), job, ResultObserver(lambda *_: None))
    began = time.perf_counter()
    with Appender(path) as out:
        observer = ResultObserver(lambda _, result: out.write(result.to_json()))
        solve_on(LocalEngine(1), domain, enumerate(levels), job, observer)
    return time.perf_counter() - began, path.stat().st_size


def measure_collect(domain: Domain, count: int, folder: Path) -> tuple[float, int]:
    """Seconds and bytes of collecting demonstrations on one core."""
    began = time.perf_counter()
    data.collect(domain, count, 0, folder / domain.name)
    size = sum(path.stat().st_size for path in (folder / domain.name).iterdir())
    return time.perf_counter() - began, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=512)
    count = parser.parse_args().count
    print("| domain | task | levels/s/core | bytes/level | a million: core hours | GB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in domains.names():
            domain = domains.create(name)
            for task, measure in (("solve", measure_solve), ("collect", measure_collect)):
                seconds, size = measure(domain, count, Path(folder))
                hours, gigabytes = seconds / count * MILLION / 3600, size / count * MILLION / 1e9
                rate = f"{count / seconds:.3g} | {size / count:.0f}"
                print(f"| {name} | {task} | {rate} | {hours:.3g} | {gigabytes:.3g} |", flush=True)


if __name__ == "__main__":
    main()
