"""`hips solve`: finds plans for levels, or proves that there are none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

import typer

from hips.cli.groups import folded, with_groups
from hips.cli.levels import LevelOptions
from hips.cli.options import BudgetOptions, DomainOptions, EngineOptions, note
from hips.cli.records import opened, run_digest
from hips.cli.solve_options import MethodOptions, OutputOptions
from hips.cli.solve_output import Writer, progress_of
from hips.cli.summary import Summary
from hips.cli.watch import watching
from hips.domains.base import Domain
from hips.domains.records import Level
from hips.errors import ConfigError, LevelError
from hips.methods.jobs import SolveJob
from hips.planner.outcomes import Outcome, exit_code
from hips.planner.settings import Settings
from hips.planner.tree import TreeRecorder

MAIN_OPTIONS = (
    "levels",
    "count",
    "seed",
    "method",
    "max_expansions",
    "max_seconds",
    "watch",
    "out",
    "gif",
    "json",
)
"""Options shown first by `--help`."""


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("solve")(solve_levels)


@folded(*MAIN_OPTIONS)
@with_groups
def solve_levels(
    domain: DomainOptions,
    problems: LevelOptions,
    how: MethodOptions,
    limits: BudgetOptions,
    engine: EngineOptions,
    output: OutputOptions,
    settings: Settings,
    improve: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Time to look for shorter plans, per level."),
    ] = 0.0,
) -> None:
    """Solve levels: a plan for each, or a proof that there is none.

    The search is complete unless it uses only subgoals or only learned dynamics.

    Exit codes: 0 all levels solved, 1 not all, 2 bad input, 130 interrupted.

    For example:

      hips solve sokoban --levels my_levels.txt

      hips solve sliding_tiles --count 20 --max-seconds 60 --out results.jsonl

      hips solve sokoban --levels - --method phs_star --json < level.txt
    """
    own = domain.make()
    # A watched search is one search; without a wish, that is the learned one.
    watched = output.watch or output.tree is not None
    job = SolveJob(
        replace(how.make(settings), learned_only=watched),
        limits.make(),
        improve,
        None if problems.levels else problems.seed,
    )
    source = problems.make(own)
    levels: Iterable[Level | LevelError] = source
    recorder = None
    if output.tree is not None:
        levels = list(levels)
        recorder = _recorder(own, levels, engine)
    if output.gif is not None:
        from hips.pictures import require_suffix

        require_suffix(output.gif, ".gif")
    output.check(problems.levels or ())
    if output.watch and not engine.is_alone:
        raise ConfigError("--watch needs one worker on this machine.")
    summary = Summary()
    run = run_digest(own, job)
    with opened(output.out, output.resume, run, summary) as out:
        writer = Writer(own, run, out, summary, output, recorder)
        engine_made = engine.make()
        if output.watch:
            shown = watching(own, source.total, writer)
        else:
            shown = progress_of(own.name, source, writer, engine_made.status)
        with shown as observer:
            interrupted = writer.solve(engine_made, levels, job, observer)
    writer.close(drawn=not problems.levels)
    if interrupted:
        again = "" if output.out is None else "; add --resume to continue"
        note(f"interrupted after {len(summary):,} levels{again}")
        raise typer.Exit(Outcome.INTERRUPTED.exit_code)
    raise typer.Exit(exit_code(Outcome(outcome) for outcome in summary.outcomes))


def _recorder(
    domain: Domain, levels: Iterable[Level | LevelError], engine: EngineOptions
) -> TreeRecorder:
    sizes = {domain.for_grid(one.grid) for one in levels if not isinstance(one, LevelError)}
    if len(sizes) > 1 or not engine.is_alone:
        raise ConfigError("--tree needs levels of equal size and one worker.")
    return TreeRecorder(sizes.pop() if sizes else domain)
