"""How time and memory grow: with the board, the objects, the nodes, the plan, the batch, the cores.

    python -m benchmarks scaling [PART …] [--domain NAME …] [--most N]

A slope is the exponent of a power law, fitted by least squares to the logarithms: 1 is linear, 0
constant. Seconds of the first three parts are CPU time of this process, so other work on the
machine disturbs them little; throughput is wall-clock time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hips import domains
from hips.arrays import Grid
from hips.domains import Domain
from hips.engines import LocalEngine
from hips.errors import ConfigError
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob
from hips.methods.streams import solve_on
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver
from hips.seeding import stream

SIZES = (10, 15, 20, 25, 30)
BOARDS: Mapping[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "sokoban": (("height", "width"), SIZES),
    "sliding_tiles": (("height", "width"), (3, 4, 5, 6, 7, 8)),
    "box_world": (("size",), SIZES),
    "tsp": (("size",), SIZES),
}
"""Parameters of the domains that make the board larger, and their values."""
OBJECTS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "sokoban": ("boxes", (1, 2, 4, 8, 16)),
    "box_world": ("goal_length", (2, 4, 6, 8)),
    "tsp": ("cities", (5, 10, 20, 40, 80)),
}
"""A parameter of a domain that changes the number of objects, and its values."""
NODES = (100, 1_000, 10_000, 100_000, 1_000_000)
BATCHES = (1, 4, 16, 64, 256)
WORKERS = (1, 2)
LEVELS = 8
EXPANSIONS = 2_000
Rows = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Extent:
    """What to measure.

    Attributes:
        names: domains.
        most: most nodes of one search.
    """

    names: Sequence[str]
    most: int


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The exponent b of y = a x^b, by least squares of the logarithms.

    >>> round(slope([1, 10, 100], [3, 300, 30_000]), 3)
    2.0
    """
    positive = [(x, y) for x, y in zip(xs, ys, strict=True) if x > 0 and y > 0]
    if len({x for x, _ in positive}) < 2:
        return float("nan")
    logs = np.log(np.array(positive))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def show(heading: str, rows: Rows) -> None:
    """Prints a table in Markdown."""
    lines = [rows[0], tuple("---" for _ in rows[0]), *rows[1:]]
    body = "".join(f"| {' | '.join(row)} |\n" for row in lines)
    sys.stdout.write(f"{heading}\n\n{body}\n")
    sys.stdout.flush()


def draw(name: str, parameters: Mapping[str, Any]) -> tuple[Domain, list[Grid]] | None:
    """A domain of other parameters and some levels; None if it does not allow them."""
    try:
        domain = domains.create(name, **parameters)
        return domain, list(domain.sample(stream(0, "scaling", name), LEVELS))
    except ConfigError:
        return None


def search(domain: Domain, levels: Sequence[Grid], expansions: int) -> tuple[list[Result], float]:
    """Results of a search without a model, and CPU seconds of one expansion."""
    job = SolveJob(Choice("low_level"), Budget(max_expansions=expansions))
    replace(job, budget=Budget(max_expansions=3)).solve(domain, levels[:1])
    began = time.process_time()
    results = job.solve(domain, levels)
    spent = time.process_time() - began
    return results, spent / max(1, sum(result.statistics.expansions for result in results))


def node_bytes(results: Sequence[Result]) -> float:
    """Bytes of memory per expansion, on average over the searches."""
    nodes = sum(result.statistics.expansions for result in results)
    return sum(result.statistics.peak_bytes for result in results) / max(1, nodes)


def _by_parameter(
    heading: str, name: str, values: Sequence[int], parameters: Sequence[str]
) -> None:
    """Prints the cost of an expansion for every value of some parameters of a domain."""
    rows: Rows = [(heading, "cells", "µs per expansion", "bytes per expansion")]
    sizes, times = [], []
    for value in values:
        drawn = draw(name, dict.fromkeys(parameters, value))
        if drawn is None:
            rows.append((str(value), "–", "not allowed", "–"))
            continue
        results, each = search(*drawn, EXPANSIONS)
        cells = drawn[0].spec.height * drawn[0].spec.width
        sizes.append(cells if heading == "size" else value)
        times.append(each)
        rows.append((str(value), str(cells), f"{each * 1e6:.1f}", f"{node_bytes(results):.0f}"))
    rows.append(("slope", "", f"{slope(sizes, times):.2f}", ""))
    show(f"**{name}**, {LEVELS} levels of at most {EXPANSIONS:,} expansions", rows)


def boards(extent: Extent) -> None:
    """Cost of an expansion against the number of cells, without a model."""
    for name in extent.names:
        parameters, values = BOARDS[name]
        _by_parameter("size", name, values, parameters)


def objects(extent: Extent) -> None:
    """Cost of an expansion against the number of objects, without a model."""
    for name in extent.names:
        if name in OBJECTS:
            parameter, values = OBJECTS[name]
            _by_parameter(parameter, name, values, (parameter,))


def nodes(extent: Extent) -> None:
    """Time and memory of one search against its number of expansions, without a model."""
    for name in extent.names:
        domain = domains.create(name)
        level = list(domain.sample(stream(1, "scaling", name), 1))
        rows: Rows = [("expansions", "seconds", "MB", "µs per expansion")]
        counts: list[int] = []
        seconds: list[float] = []
        sizes: list[int] = []
        for limit in (limit for limit in NODES if limit <= extent.most):
            results, each = search(domain, level, limit)
            (result,) = results
            if counts and result.statistics.expansions <= counts[-1]:
                break
            counts.append(result.statistics.expansions)
            seconds.append(each * counts[-1])
            sizes.append(result.statistics.peak_bytes)
            rows.append(
                (
                    f"{counts[-1]:,}",
                    f"{seconds[-1]:.4g}",
                    f"{sizes[-1] / 1e6:.4g}",
                    f"{each * 1e6:.1f}",
                )
            )
        exponents = f"{slope(counts, seconds):.2f}", f"{slope(counts, sizes):.2f}"
        rows.append(("slope", *exponents, ""))
        show(f"**{name}**, one level", rows)


def plans(extent: Extent) -> None:
    """Time of a search with the installed model against the length of its plan."""
    rows: Rows = [("domain", "levels", "plan lengths", "seconds", "slope")]
    for name in extent.names:
        domain = domains.create(name)
        levels = list(domain.sample(stream(2, "scaling", name), 8 * LEVELS))
        job = SolveJob(Choice(execution=Execution(1)), Budget(max_expansions=EXPANSIONS))
        job.solve(domain, levels[:2])
        solved = [result for result in job.solve(domain, levels) if result.plan]
        lengths = [len(result.plan) for result in solved]
        seconds = [result.statistics.seconds for result in solved]
        rows.append(
            (
                name,
                str(len(solved)),
                f"{min(lengths)} … {max(lengths)}",
                f"{min(seconds):.3g} … {max(seconds):.3g}",
                f"{slope(lengths, seconds):.2f}",
            )
        )
    show("One level at a time, with the installed model", rows)


def throughput(extent: Extent) -> None:
    """Levels per second with the installed model against the batch and the number of workers."""
    for name in extent.names:
        domain = domains.create(name)
        levels = list(domain.sample(stream(3, "scaling", name), 16 * LEVELS))
        rows: Rows = [("levels in lockstep", *(f"{w} workers: levels/s" for w in WORKERS))]
        for batch in BATCHES:
            cells = []
            for workers in WORKERS:
                choice = Choice(execution=Execution(batch, 1))
                job = SolveJob(choice, Budget(max_expansions=200))
                cells.append(f"{_rate(domain, levels, job, workers):.3g}")
            rows.append((str(batch), *cells))
        show(f"**{name}**, {len(levels)} levels", rows)


def _rate(domain: Domain, levels: Sequence[Grid], job: SolveJob, workers: int) -> float:
    """Levels per second from the first result on, so that starting processes does not count."""
    moments: list[float] = []
    observer = ResultObserver(lambda index, result: moments.append(time.perf_counter()))
    solve_on(LocalEngine(workers), domain, enumerate(levels), job, observer)
    return (len(moments) - 1) / max(1e-9, moments[-1] - moments[0])


PARTS: Mapping[str, Callable[[Extent], None]] = {
    "boards": boards,
    "objects": objects,
    "nodes": nodes,
    "plans": plans,
    "throughput": throughput,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--domain", nargs="*", default=[], help="default: all built-in ones")
    parser.add_argument("--most", type=int, default=NODES[-1], help="most nodes of one search")
    options = parser.parse_args()
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part '{unknown[0]}'; choose from {', '.join(PARTS)}")
    extent = Extent(options.domain or list(BOARDS), options.most)
    for name in options.parts or PARTS:
        sys.stdout.write(f"### {(PARTS[name].__doc__ or '').splitlines()[0]}\n\n")
        PARTS[name](extent)


if __name__ == "__main__":
    main()
