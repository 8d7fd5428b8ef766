"""Steps per second of every domain's kernel on one core, beside plain NumPy and plain Python.

python -m benchmarks steps [--batch 4096]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks._references import BATCHED, NAIVE, BatchStep, naive_batch
from hips import domains
from hips.arrays import Actions, Grids
from hips.domains import Domain
from hips.seeding import stream

MIN_SECONDS = 0.3
REPEATS = 3
WALK = 64
"""Random moves that spread the sampled states out before anything is timed."""

DISTINCT = 256
NAIVE_BATCH = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--batch", type=int, default=4096)
    batch = parser.parse_args().batch
    table = Table(title=f"million steps/s, batch {batch}, one core, best of {REPEATS}")
    for heading in ("domain", "kernel", "NumPy", "Python", "kernel ÷ NumPy", "kernel ÷ Python"):
        table.add_column(heading, justify="left" if heading == "domain" else "right")
    for name in NAIVE:
        table.add_row(name, *_measure(domains.create(name), batch))
    Console().print(table)


def _measure(domain: Domain, batch: int) -> list[str]:
    states, actions = _spread_states(domain, batch)
    versions: list[BatchStep] = [
        domain.step,
        BATCHED[domain.name],
        naive_batch(NAIVE[domain.name]),
    ]
    expected = domain.step(states, actions)
    rates = []
    for version, size in zip(versions, (batch, batch, min(batch, NAIVE_BATCH)), strict=True):
        np.testing.assert_array_equal(version(states[:size], actions[:size]), expected[:size])
        rates.append(max(_rate(version, states[:size], actions[:size]) for _ in range(REPEATS)))
    kernel, vectorised, naive = rates
    ratios = [f"{kernel / vectorised:.1f}×", f"{kernel / naive:.0f}×"]
    return [*(f"{rate / 1e6:.3g}" for rate in rates), *ratios]


def _spread_states(domain: Domain, batch: int) -> tuple[Grids, Actions]:
    rng = stream(0, "benchmark", domain.name)
    states = domain.sample(rng, min(batch, DISTINCT))
    states = states[np.arange(batch) % len(states)]
    for _ in range(WALK):
        states = domain.step(states, rng.integers(domain.spec.num_actions, size=batch))
    return states, rng.integers(domain.spec.num_actions, size=batch)


def _rate(step: BatchStep, states: Grids, actions: Actions) -> float:
    """Steps per second over at least `MIN_SECONDS`."""
    done, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < MIN_SECONDS:
        step(states, actions)
        done += len(states)
    return done / elapsed


if __name__ == "__main__":
    main()
