"""CPU time and plan lengths of the experts for sliding tiles and the travelling salesman.

    python benchmarks/tile_and_tour_experts.py [--levels FILE] [--count N]

With `--levels` only the puzzles of that file are measured; otherwise fresh instances of several
sizes, each at the qualities best, mixed and paper.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from hips.arrays import Grid
from hips.domains import QUALITIES, Domain, create, replay
from hips.files import read_text
from hips.seeding import stream

HEADER = (
    f"{'instances':<30}{'quality':>8}{'count':>7}{'mean ms':>9}{'max ms':>8}{'moves':>8}{'most':>6}"
)
SIZES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("sliding_tiles", {"height": 3, "width": 3}),
    ("sliding_tiles", {"height": 5, "width": 5}),
    ("sliding_tiles", {"height": 6, "width": 6}),
    ("tsp", {"size": 25, "cities": 25}),
    ("tsp", {"size": 40, "cities": 100}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--levels", type=Path, help="a file of sliding tile puzzles")
    parser.add_argument("--count", type=int, default=100, help="instances of each kind")
    arguments = parser.parse_args()
    print(HEADER)
    if arguments.levels:
        tiles = create("sliding_tiles")
        puzzles = tiles.parse_many(read_text(arguments.levels))[: arguments.count]
        measure(arguments.levels.name, tiles, puzzles, "best")
        return
    for name, parameters in SIZES:
        domain = create(name, **parameters)
        instances = list(domain.sample(stream(0, "benchmark", name), arguments.count))
        label = f"{name} {' '.join(str(value) for value in parameters.values())}"
        for quality in ("best", "mixed", "paper"):
            measure(label, domain, instances, quality)


def measure(label: str, domain: Domain, instances: list[Grid], quality: str) -> None:
    """Solves every instance once, replays the plan and prints a row of the table."""
    rng = stream(0, "benchmark expert")
    domain.expert(instances[0], rng, QUALITIES[quality])  # compiles or loads the kernels
    seconds, lengths = [], []
    for instance in instances:
        start = time.process_time()
        plan = domain.expert(instance, rng, QUALITIES[quality])
        seconds.append(time.process_time() - start)
        if not domain.is_goal(replay(domain, instance, plan)[-1:])[0]:
            raise SystemExit(f"a plan does not solve its instance:\n{domain.text(instance)}")
        lengths.append(len(plan))
    mean, longest = np.mean(seconds) * 1e3, np.max(seconds) * 1e3
    print(
        f"{label:<30}{quality:>8}{len(instances):>7}{mean:>9.2f}{longest:>8.1f}"
        f"{np.mean(lengths):>8.1f}{np.max(lengths):>6}"
    )


if __name__ == "__main__":
    main()
