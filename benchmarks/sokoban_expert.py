"""Share of Sokoban levels the expert solves within a second of CPU time, and its plan lengths.

    python benchmarks/sokoban_expert.py [--levels FILE …] [--count N] [--quality Q]

Without `--levels` it measures levels of the project's own generator, at 4, 6 and 8 boxes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from hips.arrays import Grid
from hips.domains import Domain, create, parse_quality, replay
from hips.errors import ExpertError
from hips.files import read_text
from hips.seeding import stream

HEADER = f"{'levels':<34}{'count':>6}{'< 1 s':>9}{'mean ms':>9}{'max ms':>9}{'moves':>7}"


def main() -> None:
    arguments = _arguments()
    domain = create("sokoban")
    domain.expert(domain.sample(stream(0, "warm-up"), 1)[0], stream(0, "warm-up"), 0.5)
    print(HEADER)
    for path in arguments.levels:
        levels = domain.parse_many(read_text(path))[: arguments.count]
        measure("/".join(path.parts[-2:]), domain, levels, arguments.quality)
    if not arguments.levels:
        for height, width, boxes in ((10, 10, 4), (10, 10, 6), (20, 20, 8)):
            own = create("sokoban", height=height, width=width, boxes=boxes)
            count = arguments.count or 300
            start = time.process_time()
            levels = list(own.sample(stream(0, "benchmark", boxes), count))
            rate = count / (time.process_time() - start)
            name = f"own {height}x{width}, {boxes} boxes"
            measure(f"{name} ({rate:.0f}/s)", own, levels, arguments.quality)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--levels", type=Path, nargs="*", default=[], help="XSB or Boxoban files")
    parser.add_argument("--count", type=int, default=None, help="levels per file; default: all")
    parser.add_argument("--quality", type=parse_quality, default=1.0, help="paper … best, or 0 … 1")
    return parser.parse_args()


def measure(name: str, domain: Domain, levels: list[Grid], quality: float) -> None:
    """Solves every level once, replays the plan and prints a row of the table."""
    seconds, lengths, in_time = [], [], 0
    rng = stream(0, "benchmark expert")
    for level in levels:
        start = time.process_time()
        try:
            plan = domain.expert(level, rng, quality)
        except ExpertError:
            seconds.append(time.process_time() - start)
            continue
        seconds.append(time.process_time() - start)
        if not domain.is_goal(replay(domain, level, plan)[-1:])[0]:
            raise SystemExit(f"a plan does not solve its level:\n{domain.text(level)}")
        lengths.append(len(plan))
        in_time += seconds[-1] <= 1.0
    share, mean, longest = in_time / len(levels), np.mean(seconds) * 1e3, np.max(seconds) * 1e3
    moves = np.mean(lengths) if lengths else float("nan")
    print(f"{name:<34}{len(levels):>6}{share:>9.2%}{mean:>9.2f}{longest:>9.1f}{moves:>7.1f}")


if __name__ == "__main__":
    main()
