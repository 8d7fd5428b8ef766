"""`hips solve`: finds plans for levels, or proves that there are none."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hips import methods
from hips.arrays import Grid
from hips.cli.groups import folded, with_groups
from hips.cli.options import (
    BudgetOptions,
    DomainOptions,
    EngineOptions,
    JsonOption,
    ModelOption,
    SeedOption,
    note,
    read_file,
)
from hips.cli.summary import report
from hips.cli.watch import watching
from hips.domains.base import Domain
from hips.errors import ConfigError
from hips.files import write_json, write_text
from hips.methods.base import Execution
from hips.methods.jobs import SolveJob, solve_on
from hips.methods.planner import Choice
from hips.planner.outcomes import exit_code
from hips.planner.result import Result
from hips.planner.rounds import Observer, ResultObserver, Round
from hips.planner.search import DEFAULT_BATCH
from hips.planner.settings import Settings
from hips.planner.tree import TreeRecorder
from hips.seeding import stream

GRAPHVIZ = (".dot", ".gv")
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


@dataclass(frozen=True, slots=True)
class LevelOptions:
    """The levels to solve."""

    levels: Annotated[
        list[Path] | None,
        typer.Option("--levels", "-l", help="Level file, - for standard input; repeatable."),
    ] = None
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, help="Levels to sample, if no file is given.")
    ] = 1
    seed: SeedOption = 0

    def make(self, domain: Domain) -> list[Grid]:
        """The levels of the files, or sampled ones."""
        if self.levels:
            return [level for file in self.levels for level in read_file(domain, file)]
        return list(domain.sample(stream(self.seed, "solve"), self.count))


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """Method, model and device."""

    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(methods.names())}. Default: the best the model allows."
        ),
    ] = None
    model: ModelOption = None
    settings_set: Annotated[
        str | None,
        typer.Option("--settings", help="A named set of settings: paper."),
    ] = None
    batch: Annotated[int, typer.Option(min=1, help="Levels in lockstep.")] = DEFAULT_BATCH
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads per network call; default: all, or one per worker."),
    ] = None
    device: Annotated[
        str | None,
        typer.Option(help="Run the networks in torch on cpu, cuda, cuda:1, … or auto."),
    ] = None

    def make(self, settings: Settings) -> Choice:
        """The choice of the options."""
        execution = Execution(self.batch, self.threads, self.device)
        return Choice(self.method, settings, self.settings_set, self.model, execution)


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Output of the results."""

    json: JsonOption = False
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write one JSON line per level.")
    ] = None
    gif: Annotated[Path | None, typer.Option(help="Animate the first plan found.")] = None
    tree: Annotated[
        Path | None,
        typer.Option(help="Write the search trees as JSON, or one level's as Graphviz (.dot)."),
    ] = None
    watch: Annotated[bool, typer.Option("--watch", help="Watch the search in the terminal.")] = (
        False
    )


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
        float, typer.Option(min=0, metavar="SECONDS", help="Time to shorten each plan.")
    ] = 0.0,
) -> None:
    """Solve levels: a plan for each, or a proof that there is none.

    The search is complete unless it uses only subgoals or only learned dynamics. The exit code is
    0 if all levels were solved, 1 if not, 2 for bad input, 130 if interrupted.

    For example:

      hips solve sokoban --levels my_levels.txt

      hips solve sliding_tiles --count 20 --seed 3 --max-seconds 60 --out results.jsonl

      hips solve sokoban --levels - --method phs_star --evaluation astar --json < level.txt
    """
    own = domain.make()
    starts = problems.make(own)
    seed = None if problems.levels else problems.seed
    job = SolveJob(how.make(settings), limits.make(), improve, seed)
    recorder = None
    if output.tree is not None:
        recorder = _recorder(own, starts, engine.workers)
    if output.watch and engine.workers > 1:
        raise ConfigError("--watch needs one worker.")
    shown = (
        watching(own, len(starts), recorder)
        if output.watch
        else _progress_bar(own.name, len(starts), recorder)
    )
    with shown as observer:
        results = solve_on(engine.make(), own, starts, job, observer)
    records = [
        _record(own, index, *pair) for index, pair in enumerate(zip(starts, results, strict=True))
    ]
    _write(records, output)
    for message in dict.fromkeys(result.provenance.note for result in results):
        if message:
            note(message)
    if output.gif is not None:
        _animate(own, starts, results, output.gif)
    if recorder is not None and output.tree is not None:
        _write_trees(recorder, output.tree)
    for file in (output.out, output.gif, output.tree):
        if file is not None and file.exists():
            note(f"wrote {file}")
    if not output.json:
        report(records, None if problems.levels else own.text(starts[0]))
    raise typer.Exit(exit_code(result.outcome for result in results))


def _recorder(domain: Domain, starts: Sequence[Grid], workers: int) -> TreeRecorder:
    sizes = {domain.for_grid(start) for start in starts}
    if len(sizes) > 1 or workers > 1:
        raise ConfigError("--tree needs levels of equal size and one worker.")
    return TreeRecorder(sizes.pop())


class _Watching(Observer):
    """Counts results, and passes rounds and results on to a recorder."""

    def __init__(self, results: Observer, recorder: TreeRecorder) -> None:
        self.results, self.recorder = results, recorder

    def on_round(self, round: Round) -> None:
        """Passes the round to the recorder."""
        self.recorder.on_round(round)

    def on_result(self, index: int, result: Result) -> None:
        """Passes the result to both."""
        self.recorder.on_result(index, result)
        self.results.on_result(index, result)


@contextmanager
def _progress_bar(label: str, total: int, recorder: TreeRecorder | None) -> Iterator[Observer]:
    """Counts finished and solved levels on stderr if it is a terminal."""
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

        counting = ResultObserver(advance)
        yield counting if recorder is None else _Watching(counting, recorder)


def _record(domain: Domain, index: int, start: Grid, result: Result) -> dict[str, Any]:
    """One JSON object: the result, and the plan in the community's formats."""
    record: dict[str, Any] = {"index": index, "domain": domain.name, **result.to_json()}
    if result.solved:
        sized = domain.for_grid(start)
        record.update(sized.plan_formats(start, sized.spec.action_indices(result.plan)))
    return record


def _write(records: Sequence[dict[str, Any]], output: OutputOptions) -> None:
    text = "".join(json_format.dumps(record, ensure_ascii=False) + "\n" for record in records)
    if output.out is not None:
        write_text(output.out, text)
    if output.json:
        typer.echo(text, nl=False)


def _write_trees(recorder: TreeRecorder, path: Path) -> None:
    trees = recorder.trees
    if path.suffix in GRAPHVIZ:
        if len(trees) != 1:
            raise ConfigError(
                f"Graphviz output takes one tree, not {len(trees)}; write .json instead."
            )
        write_text(path, next(iter(trees.values())).to_graphviz())
    else:
        write_json(path, [trees[index].to_json() for index in sorted(trees)])


def _animate(domain: Domain, starts: Sequence[Grid], results: Sequence[Result], gif: Path) -> None:
    from hips.pictures import plan_frames, save_gif

    for start, result in zip(starts, results, strict=True):
        if result.solved:
            sized = domain.for_grid(start)
            actions = sized.spec.action_indices(result.plan)
            save_gif(plan_frames(sized, start, actions), gif)
            return
    note(f"No plan found; {gif} was not written.")
