"""`hips demo`: new puzzles of every built-in domain, solved by several methods and drawn."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from hips import domains, methods
from hips.arrays import Grid, Grids
from hips.cli.options import JsonOption, print_json
from hips.domains import Domain, replay
from hips.errors import ExpertError
from hips.methods.planner import Planner
from hips.models import bundle
from hips.pictures import fitting_cell, plan_frames, save_gif, save_png
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result, Segment, Statistics
from hips.seeding import stream

SEED_BITS = 31
BUDGET = Budget(max_seconds=10.0)
METHODS = ("hips_eps", "hips", "phs_star")
"""Methods shown for each trained domain."""
EXPERT = "expert (no model)"


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one method on a domain's puzzles; means are over solved ones."""

    domain: str
    method: str
    puzzles: int
    solved: int
    mean_expansions: float | None
    mean_seconds: float | None
    mean_length: float | None

    @classmethod
    def of(cls, domain: Domain, method: str, results: Sequence[Result]) -> Row:
        """The row of some results."""
        solved = [result for result in results if result.outcome is Outcome.SOLVED]

        def mean(values: list[float]) -> float | None:
            return float(np.mean(values)) if values else None

        return cls(
            domain.name,
            method,
            len(results),
            len(solved),
            mean([float(r.statistics.expansions) for r in solved]),
            mean([r.statistics.seconds for r in solved]),
            mean([float(len(r.plan)) for r in solved]),
        )


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("demo")(run_demo)


def run_demo(
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Puzzles per domain.")] = 5,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Same seed, same puzzles; default: random.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path(
        "demo"
    ),
    json: JsonOption = False,
) -> None:
    """Solve new puzzles of every built-in domain and draw them.

    Prints a table and writes a picture and an animated plan per domain; subgoals have a coloured
    frame.

    For example:

      hips demo

      hips demo --count 20 --seed 3 --out pictures
    """
    chosen = secrets.randbits(SEED_BITS) if seed is None else seed
    console = Console(stderr=json)
    rows: list[Row] = []
    for name in shipped():
        domain = domains.create(name)
        states = domain.sample(stream(chosen, "demo", name), count)
        save_png(domain.render(states[0], fitting_cell(domain)), out / f"{name}.png")
        with console.status(f"solving {name}"):
            found = solve_all(domain, states, chosen)
        rows += [Row.of(domain, method, results) for method, results in found.items()]
        _animate(domain, states, next(iter(found.values())), out / f"{name}.gif")
    if json:
        print_json({"seed": chosen, "rows": [_content(row) for row in rows]})
        return
    _print_table(console, rows)
    console.print(f"\nPictures are in {out}/. To repeat: hips demo --seed {chosen}")


def shipped() -> list[str]:
    """Names of the built-in domains."""
    return [
        name
        for name in domains.names()
        if type(domains.create(name)).__module__.startswith("hips.domains.")
    ]


def solve_all(domain: Domain, states: Grids, seed: int) -> dict[str, list[Result]]:
    """Results by method, best method first."""
    if bundle.find(domain.name) is None:
        # The first call loads compiled kernels; keep it out of the timing.
        solve_by_expert(domain, states[0], seed)
        return {EXPERT: [solve_by_expert(domain, state, seed) for state in states]}
    results = {}
    for name in METHODS:
        planner = Planner.load(domain.name, method=name)
        planner.solve(states[0], Budget(max_expansions=2))
        results[methods.get(name).label] = [planner.solve(state, BUDGET) for state in states]
    return results


def solve_by_expert(domain: Domain, state: Grid, seed: int) -> Result:
    """The domain's own expert, for domains without a trained model; its plan is replayed."""
    started = time.perf_counter()
    try:
        plan = domain.expert(state, stream(seed, "demo", "expert"))
    except ExpertError as error:
        return Result(Outcome.UNSOLVED_INCOMPLETE, message=str(error))
    seconds = time.perf_counter() - started
    if not domain.is_goal(replay(domain, state, plan)[-1:])[0]:
        return Result(Outcome.UNSOLVED_INCOMPLETE, message="the expert's plan misses the goal")
    names = domain.spec.action_names(plan)
    segments = tuple(Segment("action", name, 1) for name in names)
    return Result(Outcome.SOLVED, names, segments, Statistics(seconds=seconds))


def _animate(domain: Domain, states: Grids, results: Sequence[Result], path: Path) -> None:
    """Animates the first plan found."""
    for state, result in zip(states, results, strict=True):
        if result.outcome is Outcome.SOLVED:
            plan = domain.spec.action_indices(result.plan)
            cell = fitting_cell(domain, 320)
            save_gif(plan_frames(domain, state, plan, cell, result.subgoal_steps), path)
            return


def _content(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in Row.__slots__}


def _print_table(console: Console, rows: Sequence[Row]) -> None:
    table = Table("domain", "method", title="Fresh puzzles")
    for heading in ("solved", "mean expansions", "mean seconds", "mean length"):
        table.add_column(heading, justify="right")
    previous = ""
    for row in rows:
        table.add_row(
            "" if row.domain == previous else row.domain,
            row.method,
            f"{row.solved} of {row.puzzles}",
            "–" if row.method == EXPERT else _number(row.mean_expansions, 1),
            _number(row.mean_seconds, 3),
            _number(row.mean_length, 1),
        )
        previous = row.domain
    console.print(table)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
