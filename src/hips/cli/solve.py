"""`hips solve`: plans for levels, or proofs that there are none."""

from __future__ import annotations

import json as json_format
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hips.cli.options import (
    DomainArgument,
    JsonOption,
    PluginOption,
    SeedOption,
    SetOption,
    VariantOption,
    make_domain,
    note,
    read_file,
)
from hips.domains import Domain, Grid
from hips.errors import ConfigError
from hips.files import write_text
from hips.seeding import stream

if TYPE_CHECKING:
    from hips.planner.result import Result
    from hips.planner.search import OnResult

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
PERCENTILES = (50, 90)


class Search(StrEnum):
    """Which children a node has."""

    HIPS_EPS = "hips-eps"
    HIPS = "hips"
    LOW_LEVEL = "low-level"


class Evaluation(StrEnum):
    """In which order nodes are expanded."""

    PHS_HAT = "phs_hat"
    PHS_STAR = "phs_star"
    LEVIN_TS = "levin_ts"
    DEPTH = "depth"
    DIST = "dist"
    ASTAR = "astar"
    WEIGHTED_ASTAR = "weighted_astar"
    GBFS = "gbfs"


class NetworkPrecision(StrEnum):
    """Arithmetic of the networks."""

    FP32 = "fp32"
    INT8 = "int8"


class Dynamics(StrEnum):
    """Who simulates what."""

    TRUE = "true"
    LEARNED = "learned"
    HYBRID = "hybrid"


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("solve")(solve_levels)


def solve_levels(
    name: DomainArgument,
    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", "-l", help="File of levels, - for standard input; repeatable."),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, help="Fresh levels, if no file is given.")
    ] = 1,
    seed: SeedOption = 0,
    search: Annotated[
        Search | None,
        typer.Option(help="Children: subgoals and actions, only subgoals, only actions."),
    ] = None,
    evaluation: Annotated[
        Evaluation | None, typer.Option(help="Order in which nodes are expanded.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Share of low-level actions, in (0, 1], or 0+.")
    ] = None,
    dynamics: Annotated[
        Dynamics, typer.Option(help="True rules, a learned model, or subgoals by the model.")
    ] = Dynamics.TRUE,
    model: Annotated[
        str | None, typer.Option(help="Name or folder of a model; by default the domain's.")
    ] = None,
    precision: Annotated[
        NetworkPrecision | None,
        typer.Option(help="By default int8 where the model has it, and fp32 on a device."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Run the networks in torch on cpu, cuda, cuda:1, … or auto."),
    ] = None,
    mass: Annotated[
        float | None,
        typer.Option(help="Decode only the likeliest codes of this share, in (0, 1]."),
    ] = None,
    weight: Annotated[
        float | None, typer.Option(help="Of the heuristic; above 1 is greedier, plans get longer.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Of the prior; above 1 the heuristic decides more.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Least probability of an action foreseen by the policy.")
    ] = None,
    hope: Annotated[
        float | None, typer.Option(help="Least chance of a subgoal that is tried, in [0, 1).")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Most low-level steps to a subgoal.")
    ] = None,
    max_expansions: Annotated[int | None, typer.Option(min=0, help="Nodes per level.")] = None,
    max_seconds: Annotated[float | None, typer.Option(min=0, help="Seconds per level.")] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Memory of the nodes of a level, e.g. 500M or 2G.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Levels in lockstep.")] = 64,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes.")] = 1,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Cores that share a network's rows; all, or one per worker."),
    ] = None,
    improve: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Time to shorten each plan.")
    ] = 0.0,
    close_on_generation: Annotated[
        bool, typer.Option("--close-on-generation", help="Never update a generated state.")
    ] = False,
    json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write one JSON line per level.")
    ] = None,
    gif: Annotated[Path | None, typer.Option(help="Animate the first plan found.")] = None,
    variant: VariantOption = None,
    settings: SetOption = None,
    plugins: PluginOption = None,
) -> None:
    """Solve levels: a plan for each, or a proof that there is none.

    The search is complete unless it is told to use only subgoals or a learned model alone. The
    exit code is 0 if all levels were solved, 1 if not, 2 for bad input, 130 if interrupted.

    For example:

      hips solve sokoban --levels my_levels.txt

      hips solve sliding_tiles --count 20 --seed 3 --max-seconds 60 --out results.jsonl

      hips solve sokoban --levels - --search low-level --evaluation astar --json < level.txt
    """
    from hips.planner.budget import Budget
    from hips.planner.components import SearchSettings
    from hips.planner.expander import parse_epsilon
    from hips.planner.outcomes import exit_code
    from hips.planner.parallel import SolveOptions, solve_in_processes
    from hips.planner.protocols import DynamicsMode

    domain = make_domain(name, variant, settings, plugins)
    if levels:
        starts = [level for file in levels for level in read_file(domain, file)]
    else:
        starts = list(domain.sample(stream(seed, "solve"), count))
    chosen = SearchSettings(
        None if search is None else search.value,
        None if evaluation is None else evaluation.value,
        None if epsilon is None else parse_epsilon(epsilon),
        DynamicsMode(dynamics.value),
        close_on_generation=close_on_generation,
        precision=None if precision is None else precision.value,
        device=device,
        threads=threads,
        confidence=confidence,
        hope=hope,
        horizon=horizon,
        mass=mass,
        weight=weight,
        temperature=temperature,
    )
    budget = Budget(max_expansions, max_seconds, parse_memory(max_memory))
    drawn_from = None if levels else seed
    options = SolveOptions(chosen, model, budget, batch, improve, drawn_from)
    with _progress_bar(domain.name, len(starts)) as progress:
        results = solve_in_processes(domain, starts, options, workers, progress)
    pairs = zip(starts, results, strict=True)
    records = [_record(domain, index, *pair) for index, pair in enumerate(pairs)]
    _write(records, out, json)
    if gif is not None:
        _animate(domain, starts, results, gif)
    if not json:
        _report(records)
    raise typer.Exit(exit_code(result.outcome for result in results))


def parse_memory(text: str | None) -> int | None:
    """Bytes from a number with an optional unit (K, M, G, T), e.g. `500M`."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", text.strip().upper())
    if match is None:
        raise ConfigError(f"'{text}' is not an amount of memory; write e.g. 500M or 2G.")
    return int(float(match[1]) * UNITS[match[2]])


@contextmanager
def _progress_bar(label: str, total: int) -> Iterator[OnResult]:
    """Counts finished and solved levels on stderr while there is a terminal to watch it."""
    columns = (
        TextColumn("solving {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[solved]} solved"),
        TimeRemainingColumn(),
    )
    solved = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, solved=0)

        def advance(index: int, result: Result) -> None:
            nonlocal solved
            solved += result.solved
            bar.update(task, advance=1, solved=solved)

        yield advance


def _record(domain: Domain, index: int, start: Grid, result: Result) -> dict[str, Any]:
    """One JSON object: the result, and the plan in the community's formats."""
    record: dict[str, Any] = {"index": index, "domain": domain.name, **result.to_json()}
    if result.solved:
        sized = domain.for_grid(start)
        record.update(sized.plan_formats(start, sized.spec.action_indices(result.plan)))
    return record


def _write(records: Sequence[dict[str, Any]], out: Path | None, to_stdout: bool) -> None:
    text = "".join(json_format.dumps(record, ensure_ascii=False) + "\n" for record in records)
    if out is not None:
        write_text(out, text)
    if to_stdout:
        typer.echo(text, nl=False)


def _animate(domain: Domain, starts: Sequence[Grid], results: Sequence[Result], gif: Path) -> None:
    from hips.pictures import plan_frames, save_gif

    for start, result in zip(starts, results, strict=True):
        if result.solved:
            sized = domain.for_grid(start)
            actions = sized.spec.action_indices(result.plan)
            save_gif(plan_frames(sized, start, actions), gif)
            return
    note(f"No plan was found, so {gif} was not written.")


def _report(records: Sequence[dict[str, Any]]) -> None:
    """The plan of a single level, or a table over many."""
    console = Console()
    if len(records) == 1:
        _report_one(console, records[0])
        return
    solved = [record for record in records if record["length"] is not None]
    table = Table("", title=f"{len(solved)} of {len(records)} solved")
    for heading in ("mean", *(f"{p} %" for p in PERCENTILES), "max"):
        table.add_column(heading, justify="right")
    for label, rows in (("expansions", records), ("seconds", records), ("length", solved)):
        values = sorted(float(row[label]) for row in rows)
        if values:
            middle = [values[min(len(values) - 1, len(values) * p // 100)] for p in PERCENTILES]
            numbers = [sum(values) / len(values), *middle, values[-1]]
            table.add_row(label, *(f"{number:.4g}" for number in numbers))
    console.print(table)
    others: dict[str, int] = {}
    for record in records:
        if record["length"] is None:
            others[record["outcome"]] = others.get(record["outcome"], 0) + 1
    for outcome, number in others.items():
        console.print(f"{outcome}: {number}")


def _report_one(console: Console, record: dict[str, Any]) -> None:
    spent = f"{record['expansions']} expansions, {record['seconds']:.2f} s"
    if record["length"] is None:
        console.print(f"{record['outcome']} after {spent} {record['message']}".strip())
        return
    console.print(f"solved in {record['length']} steps ({spent})")
    console.print(" ".join(record["plan"]), soft_wrap=True, highlight=False)
