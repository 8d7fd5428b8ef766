"""`hips demo`: fresh puzzles of every shipped domain, solved and drawn."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from hips import domains
from hips.cli.options import JsonOption, print_json
from hips.domains import Actions, Domain, Grid, replay
from hips.errors import ExpertError
from hips.pictures import fitting_cell, plan_frames, save_gif, save_png
from hips.seeding import stream

SEED_BITS = 31


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one puzzle: the plan (None if there is none) and the time it took."""

    plan: Actions | None
    seconds: float


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("demo")(run_demo)


def run_demo(
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Puzzles per domain.")] = 5,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Same seed, same puzzles; new ones if left out.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the pictures.")] = Path(
        "demo"
    ),
    json: JsonOption = False,
) -> None:
    """Solve fresh puzzles of every shipped domain and draw them.

    Prints a table, and writes a picture and an animated plan per domain.

    For example:

      hips demo

      hips demo --count 20 --seed 3 --out pictures
    """
    chosen = secrets.randbits(SEED_BITS) if seed is None else seed
    console = Console(stderr=json)
    rows = []
    for name in shipped():
        domain = domains.create(name)
        with console.status(f"solving {name}"):
            rows.append(_run_domain(domain, chosen, count, out))
    if json:
        print_json({"seed": chosen, "domains": rows})
        return
    _print_table(console, rows)
    console.print(f"\nPictures are in {out}/. The same puzzles again: hips demo --seed {chosen}")


def shipped() -> list[str]:
    """Names of the domains that come with the package."""
    return [
        name
        for name in domains.names()
        if type(domains.create(name)).__module__.startswith("hips.domains.")
    ]


def solve(domain: Domain, state: Grid, rng: np.random.Generator) -> Actions | None:
    """A verified plan from `state` to a goal, or None."""
    try:
        plan = domain.expert(state, rng)
    except ExpertError:
        return None
    return plan if domain.is_goal(replay(domain, state, plan)[-1:])[0] else None


def _run_domain(domain: Domain, seed: int, count: int, out: Path) -> dict[str, object]:
    states = domain.sample(stream(seed, "demo", domain.name), count)
    # The first call loads compiled kernels; it is not part of what is timed.
    solve(domain, states[0], stream(seed, "demo", "warm-up"))
    attempts = [_attempt(domain, state, seed, i) for i, state in enumerate(states)]
    plans = [attempt.plan for attempt in attempts if attempt.plan is not None]
    save_png(domain.render(states[0], fitting_cell(domain)), out / f"{domain.name}.png")
    if attempts[0].plan is not None:
        frames = plan_frames(domain, states[0], attempts[0].plan, fitting_cell(domain, 320))
        save_gif(frames, out / f"{domain.name}.gif")
    return {
        "domain": domain.name,
        "puzzles": count,
        "solved": len(plans),
        "mean_length": float(np.mean([len(plan) for plan in plans])) if plans else None,
        "mean_seconds": float(np.mean([attempt.seconds for attempt in attempts])),
    }


def _attempt(domain: Domain, state: Grid, seed: int, index: int) -> Attempt:
    started = time.perf_counter()
    plan = solve(domain, state, stream(seed, "demo", domain.name, index))
    return Attempt(plan, time.perf_counter() - started)


def _print_table(console: Console, rows: list[dict[str, object]]) -> None:
    table = Table("domain", title="Fresh puzzles, solved by each domain's expert")
    for heading in ("solved", "mean length", "mean seconds"):
        table.add_column(heading, justify="right")
    for row in rows:
        length = "–" if row["mean_length"] is None else f"{row['mean_length']:.1f}"
        solved = f"{row['solved']} of {row['puzzles']}"
        table.add_row(str(row["domain"]), solved, length, f"{row['mean_seconds']:.4f}")
    console.print(table)
