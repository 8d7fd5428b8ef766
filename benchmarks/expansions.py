"""What an expansion costs with the installed models, and where the time goes.

    python -m benchmarks expansions [--domain NAME …] [--method NAME] [--count N]
        [--lockstep N] [--expansions N]

Each row is one run over the same fresh levels: one problem at a time and in lockstep, with exact
and with quantised networks. The median is over problems, of a problem's seconds per expansion; in
lockstep all problems share the time, so it is that of the whole run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from hips import domains
from hips.arrays import Grid
from hips.domains import Domain
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob
from hips.models import bundle
from hips.models.runtime import Precision
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.settings import Settings
from hips.seeding import stream

PHASES = ("proposals", "filter", "rollouts", "actions", "heuristic", "bookkeeping")
PRECISIONS: tuple[Precision, ...] = ("fp32", "int8")


def main() -> None:
    arguments = _arguments()
    print(f"{'':<40}{'solved':>8}{'ms each':>9}" + "".join(f"{name:>12}" for name in PHASES))
    for name in arguments.domain or bundle.installed():
        domain = domains.create(name)
        levels = list(domain.sample(stream(0, "benchmark", "expansions"), arguments.count))
        for batch in (1, arguments.lockstep):
            for precision in PRECISIONS:
                settings = Settings(precision=precision)
                choice = Choice(arguments.method, settings, execution=Execution(batch))
                measure(domain, levels, choice, arguments.expansions)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--domain", nargs="*", default=[], help="default: all that have a model")
    parser.add_argument("--method", default="hips_eps", help="a method that uses a model")
    parser.add_argument("--count", type=int, default=32, help="levels")
    parser.add_argument("--lockstep", type=int, default=32, help="problems at once")
    parser.add_argument("--expansions", type=int, default=200, help="most expansions of a problem")
    return parser.parse_args()


def measure(domain: Domain, levels: Sequence[Grid], choice: Choice, most: int) -> None:
    """Solves the levels once to warm up, once to measure, and prints a row."""
    job, batch = SolveJob(choice, Budget(most)), choice.execution.batch
    job.solve(domain, levels[:2])
    start = time.perf_counter()
    results = job.solve(domain, levels)
    seconds = time.perf_counter() - start
    expansions = sum(result.statistics.expansions for result in results)
    each = _median_cost(results) if batch == 1 else seconds / expansions
    shares = [
        sum(result.statistics.phases.get(phase, 0.0) for result in results) / expansions
        for phase in PHASES
    ]
    solved = sum(bool(result.plan) for result in results)
    name = f"{domain.name}, {choice.settings.precision}, " + (
        "one at a time" if batch == 1 else f"{batch} at once"
    )
    cells = "".join(f"{1000 * share:12.2f}" for share in shares)
    print(f"{name:<40}{solved:>5}/{len(levels)}{1000 * each:9.2f}{cells}", flush=True)


def _median_cost(results: Sequence[Result]) -> float:
    """Median over problems of the seconds of an expansion."""
    costs = [
        r.statistics.seconds / r.statistics.expansions for r in results if r.statistics.expansions
    ]
    return float(np.median(costs))


if __name__ == "__main__":
    main()
