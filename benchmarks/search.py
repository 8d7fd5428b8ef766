"""Speed and memory of the search engine: bookkeeping, lockstep, growth.

Every ratio compares two measurements of the same run. CPU seconds are those of this process, so
other work on the machine disturbs them little.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hips import domains
from hips.arrays import Floats, Grids
from hips.domains import Domain
from hips.planner.budget import Budget
from hips.planner.expander import Hybrid
from hips.planner.heaps import NODE
from hips.planner.nodes import NodeTable
from hips.planner.policies import UniformPolicy
from hips.planner.result import Result
from hips.planner.rounds import Observer, ResultObserver
from hips.planner.search import solve, solve_many
from hips.seeding import stream

LOCKSTEP = 64
GROWTH_STEPS = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class SmallNetwork:
    """A policy and heuristic of the cost of a small network: three dense layers in fp32."""

    layers: tuple[np.ndarray, ...]
    num_actions: int
    calls: ClassVar[int] = 1

    @staticmethod
    def make(domain: Domain, width: int = 512) -> SmallNetwork:
        """A network for the domain's states with fixed random weights."""
        rng = stream(0, "benchmark_network")
        sizes = [domain.spec.height * domain.spec.width, width, width, domain.spec.num_actions + 1]
        pairs = itertools.pairwise(sizes)
        layers = tuple(
            (rng.standard_normal(pair) / np.sqrt(pair[0])).astype(np.float32) for pair in pairs
        )
        return SmallNetwork(layers, domain.spec.num_actions)

    def _run(self, states: Grids) -> Floats:
        values = states.reshape(len(states), -1).astype(np.float32)
        for layer in self.layers[:-1]:
            values = np.maximum(values @ layer, 0)
        outputs: Floats = (values @ self.layers[-1]).astype(np.float64)
        return outputs

    def log_probabilities(self, states: Grids) -> Floats:
        """Logits `[B, A]`."""
        return self._run(states)[:, : self.num_actions]

    def distances(self, states: Grids) -> Floats:
        """Estimates `[B]`."""
        return np.abs(self._run(states)[:, -1])


def low_level(domain: Domain) -> Hybrid:
    return Hybrid(domain, action_policy=UniformPolicy(domain.spec.num_actions))


def timed_many(
    domain: Domain, starts: Grids, expander: Hybrid, expansions: int, batch: int = LOCKSTEP
) -> tuple[list[Result], float]:
    """Results and CPU seconds."""
    began = time.process_time()
    evaluation = "levin_ts" if expander.heuristic is None else "phs_star"
    budget = Budget(max_expansions=expansions)
    results = solve_many(
        domain, starts, expander, evaluation=evaluation, budget=budget, batch=batch
    )
    return results, time.process_time() - began


def show(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        sys.stdout.write("  ".join(cells) + "\n")
    sys.stdout.write("\n")


def lockstep(names: Sequence[str], expansions: int) -> None:
    """Children per second and microseconds of bookkeeping per child, uniform policy, h = 0."""
    rows = [
        (
            "domain",
            "children/s (CPU)",
            "children/s (wall)",
            "bookkeeping µs/child",
            "rules and policy µs",
        )
    ]
    for name in names:
        domain = domains.create(name)
        starts = domain.sample(stream(0, "benchmark_search", name), LOCKSTEP)
        expander = low_level(domain)
        timed_many(domain, starts, expander, 3)
        wall = time.perf_counter()
        results, seconds = timed_many(domain, starts, expander, expansions)
        wall = time.perf_counter() - wall
        children = sum(result.statistics.generated for result in results)
        # Phases are wall-clock; scaled by CPU share so that other processes do not count.
        share = seconds / wall
        phases = {
            phase: sum(r.statistics.phases[phase] for r in results) * share / children * 1e6
            for phase in ("bookkeeping", "actions")
        }
        rows.append(
            (
                name,
                f"{children / seconds:,.0f}",
                f"{children / wall:,.0f}",
                f"{phases['bookkeeping']:.2f}",
                f"{phases['actions']:.2f}",
            )
        )
    sys.stdout.write(f"Lockstep of {LOCKSTEP} levels, {expansions} expansions each\n")
    show(rows)


def one_by_one(name: str, expansions: int) -> None:
    """Throughput of a lockstep against the same problems one by one, with a network in the loop."""
    domain = domains.create(name)
    starts = domain.sample(stream(0, "benchmark_search", name), LOCKSTEP)
    network = SmallNetwork.make(domain)
    expander = Hybrid(domain, action_policy=network, heuristic=network)
    timed_many(domain, starts[:2], expander, 3)
    together, fast = timed_many(domain, starts, expander, expansions)
    alone, slow = timed_many(domain, starts, expander, expansions, batch=1)
    differing = sum(a.plan != b.plan for a, b in zip(together, alone, strict=True))
    sys.stdout.write(f"{name}, {LOCKSTEP} problems with a network in the loop\n")
    show(
        [
            ("lockstep s", "one by one s", "ratio", "different plans"),
            (f"{fast:.2f}", f"{slow:.2f}", f"{slow / fast:.1f}", str(differing)),
        ]
    )


def growth(name: str) -> None:
    """CPU time per expansion as one search grows."""
    domain = domains.create(name)
    start = domain.sample(stream(1, "benchmark_search", name), 1)[0]
    expander = low_level(domain)
    solve(domain, start, expander, evaluation="levin_ts", budget=Budget(max_expansions=3))
    rows = [("expansions", "µs per expansion", "ratio to first")]
    before, first, done = 0.0, 0.0, 0
    for limit in GROWTH_STEPS:
        began = time.process_time()
        result = solve(
            domain, start, expander, evaluation="levin_ts", budget=Budget(max_expansions=limit)
        )
        total = time.process_time() - began
        count = result.statistics.expansions
        if count <= done:
            break
        each = (total - before) / (count - done) * 1e6
        first = first or each
        rows.append((f"{done:,} … {count:,}", f"{each:.0f}", f"{each / first:.2f}"))
        before, done = total, count
    sys.stdout.write(f"Growth of one search, {name}\n")
    show(rows)


def watching(name: str, expansions: int) -> None:
    """What an observer costs, and that a search nobody watches pays nothing for the possibility."""
    domain = domains.create(name)
    starts = list(domain.sample(stream(2, "benchmark_search", name), LOCKSTEP))
    expander = low_level(domain)
    budget = Budget(max_expansions=expansions)
    rows = [("observer", "CPU s", "ratio to nobody")]
    alone = 0.0
    for label, observer in (
        ("nobody", None),
        ("results", ResultObserver(_ignore)),
        ("rounds", Observer()),
    ):
        best = math.inf
        for _ in range(3):
            began = time.process_time()
            solve_many(domain, starts, expander, observer, evaluation="levin_ts", budget=budget)
            best = min(best, time.process_time() - began)
        alone = alone or best
        rows.append((label, f"{best:.2f}", f"{best / alone:.2f}"))
    sys.stdout.write(f"Watching {LOCKSTEP} searches, {name}\n")
    show(rows)


def _ignore(index: int, result: Result) -> None:
    pass


def memory(names: Sequence[str]) -> None:
    """Bytes per node of a table with 200,000 nodes, and what is allowed."""
    rows = [("domain", "state bytes", "bytes per node", "allowed")]
    for name in names:
        spec = domains.create(name).spec
        table = NodeTable(spec.shape, 1, spec.num_actions)
        cells = spec.height * spec.width
        rng = stream(0, "benchmark_memory")
        count = 0
        while count < 200_000:
            states = rng.integers(0, 255, size=(5_000, *spec.shape), dtype=np.uint8)
            slots = np.zeros(len(states), dtype=np.int64)
            count += int(table.intern(slots, np.ones(len(states), dtype=np.bool_), states)[1].sum())
        rows.append((name, str(cells), f"{table.nbytes / count:.1f}", str(cells + 120)))
    sys.stdout.write(f"Memory, records of {NODE.itemsize} bytes\n")
    show(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expansions", type=int, default=1_000)
    options = parser.parse_args()
    names = domains.names()
    lockstep(names, options.expansions)
    one_by_one("sokoban", 100)
    growth("sliding_tiles")
    watching("sokoban", options.expansions)
    memory(names)


if __name__ == "__main__":
    main()
