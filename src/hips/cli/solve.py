"""`hips solve`: finds plans for levels, or proves that there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from hips import methods
from hips.arrays import Grid
from hips.cli.groups import folded, with_groups
from hips.cli.levels import LevelOptions, LevelStream
from hips.cli.options import (
    MOST_THREADS,
    BudgetOptions,
    DomainOptions,
    EngineOptions,
    JsonOption,
    ModelOption,
    StatusColumn,
    make_bar,
    note,
)
from hips.cli.records import Numbered, Output, as_line, make_record, opened, run_digest
from hips.cli.summary import Summary
from hips.cli.watch import watching
from hips.domains.base import Domain
from hips.domains.records import Level
from hips.engines import Engine
from hips.errors import ConfigError, LevelError, is_interrupt
from hips.files import check_distinct, check_writable, write_json, write_text
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob, solve_on
from hips.planner.options import DEFAULT_BATCH
from hips.planner.outcomes import Outcome, exit_code
from hips.planner.result import Result
from hips.planner.rounds import Observer, Round
from hips.planner.settings import Settings
from hips.planner.tree import TreeRecorder

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
        typer.Option(
            min=1,
            max=MOST_THREADS,
            help="Threads per network call; default: all, or one per worker.",
        ),
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
        Path | None,
        typer.Option("--out", "-o", help="Write one JSON line per level, as it is found."),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue --out: solve only levels not in it.")
    ] = False
    gif: Annotated[Path | None, typer.Option(help="Animate the first plan found.")] = None
    tree: Annotated[
        Path | None,
        typer.Option(help="Write the search trees as JSON, or one level's as Graphviz (.dot)."),
    ] = None
    watch: Annotated[bool, typer.Option("--watch", help="Watch the search in the terminal.")] = (
        False
    )

    def check(self, inputs: Sequence[Path]) -> None:
        """Rejects files that cannot be written, or that would overwrite each other or the input."""
        targets = [file for file in (self.out, self.gif, self.tree) if file is not None]
        check_distinct(targets, inputs)
        for target in targets:
            if target != self.out:  # opened, and checked by that, before the first search
                check_writable(target)


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

    The search is complete unless it uses only subgoals or only learned dynamics. The exit code is
    0 if all levels were solved, 1 if not, 2 for bad input, 130 if interrupted.

    For example:

      hips solve sokoban --levels my_levels.txt

      hips solve sliding_tiles --count 20 --seed 3 --max-seconds 60 --out results.jsonl

      hips solve sokoban --levels - --method phs_star --evaluation astar --json < level.txt
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
        writer = _Writer(own, run, out, summary, output, recorder)
        engine_made = engine.make()
        if output.watch:
            shown = watching(own, source.total, writer)
        else:
            shown = _progress_bar(own.name, source, writer, engine_made.status)
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


class _Writer(Observer):
    """Writes, counts and shows results as they are found."""

    def __init__(
        self,
        domain: Domain,
        run: str,
        out: Output,
        summary: Summary,
        options: OutputOptions,
        recorder: TreeRecorder | None,
    ) -> None:
        self.domain, self.run, self.out, self.summary = domain, run, out, summary
        self.options, self.recorder = options, recorder
        self.wants_rounds = recorder is not None
        self.notes: dict[str, None] = {}
        self.titles: dict[int, str] = {}
        self.first_error: LevelError | None = None
        self.first_plan: Result | None = None
        self.last_start: Grid | None = None

    def solve(
        self,
        engine: Engine,
        levels: Iterable[Level | LevelError],
        job: SolveJob,
        observer: Observer,
    ) -> bool:
        """Solves the levels that are not on file; returns whether Ctrl-C ended it.

        The observer shows the searches and passes them on to this writer.
        """
        try:
            solve_on(engine, self.domain, self._todo(levels, job), job, observer)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            return True
        return False

    def _todo(
        self, levels: Iterable[Level | LevelError], job: SolveJob
    ) -> Iterator[tuple[int, Grid]]:
        index = -1
        for index, level in enumerate(levels):
            if isinstance(level, LevelError):
                self.first_error = self.first_error or level
                if not self.out.earlier.has(index, None, self.options.out):
                    note(f"level {index} cannot be read: {level}")
                    self.on_result(
                        index, Result(Outcome.INVALID_INPUT, seed=job.seed, message=str(level))
                    )
            elif not self.out.earlier.has(index, level.grid, self.options.out):
                self.titles[index] = level.title
                if level.note:
                    note(f"level {index}: {level.note}")
                yield index, level.grid
        if index < 0:
            raise LevelError("the text has no level")

    def on_round(self, round: Round) -> None:
        """Passes the round to the recorder."""
        if self.recorder is not None:
            self.recorder.on_round(round)

    def on_result(self, index: int, result: Result) -> None:
        """Writes the result before anything else."""
        title = self.titles.pop(index, "")
        record = make_record(self.domain, Numbered(index, title), result, self.run)
        self.out.write(record)
        if self.options.json:
            typer.echo(as_line(record))
        self.summary.add(record)
        self.notes[result.provenance.note] = None
        if self.first_plan is None and result.solved:
            self.first_plan = result
        if self.recorder is not None:
            self.recorder.on_result(index, result)
        self.last_start = result.start

    def close(self, drawn: bool) -> None:
        """Shows the summary, with the level if it was drawn here, and writes pictures and trees."""
        if self.first_error is not None and set(self.summary.outcomes) == {
            Outcome.INVALID_INPUT.value
        }:
            raise self.first_error
        for message in filter(None, self.notes):
            note(message)
        if self.options.gif is not None:
            _animate(self.domain, self.first_plan, self.options.gif)
        if self.recorder is not None and self.options.tree is not None:
            _write_trees(self.recorder, self.options.tree)
        for file in (self.options.out, self.options.gif, self.options.tree):
            if file is not None and file.exists():
                note(f"wrote {file}")
        if not self.options.json and len(self.summary):
            level = self.last_start if drawn else None
            self.summary.print(None if level is None else self.domain.for_grid(level).text(level))


class _Counting(Observer):
    """Moves a progress bar with every result, and passes everything on to a writer.

    Args:
        writer: gets the rounds and results.
        moved: called after every result.
        better: called with a note on every better plan.
    """

    def __init__(
        self, writer: _Writer, moved: Callable[[], None], better: Callable[[str], None]
    ) -> None:
        self.writer, self.moved, self.better = writer, moved, better
        self.wants_rounds = writer.wants_rounds

    def on_round(self, round: Round) -> None:
        """Passes the round on."""
        self.writer.on_round(round)

    def on_plan(self, index: int, result: Result) -> None:
        """Shows the better plan on the bar."""
        self.better(f"level {index}: {len(result.plan)} steps")

    def on_result(self, index: int, result: Result) -> None:
        """Passes the result on, then counts it."""
        self.writer.on_result(index, result)
        self.moved()


@contextmanager
def _progress_bar(
    label: str, levels: LevelStream, writer: _Writer, status: Callable[[], str]
) -> Iterator[Observer]:
    """Counts finished and solved levels on stderr if it is a terminal."""
    columns = (
        TextColumn("solving {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[solved]} solved"),
        StatusColumn(status),
        TimeRemainingColumn(),
    )
    with make_bar(*columns) as bar:
        task = bar.add_task(label, total=levels.total, solved=0)

        def moved() -> None:
            solved = writer.summary.outcomes[Outcome.SOLVED.value]
            done = len(writer.summary)
            bar.update(task, completed=done, total=levels.total, solved=solved)

        yield _Counting(writer, moved, lambda text: bar.update(task, status=text))


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


def _animate(domain: Domain, result: Result | None, gif: Path) -> None:
    from hips.pictures import plan_frames, save_gif

    if result is None or result.start is None:
        note(f"No plan found; {gif} was not written.")
        return
    sized = domain.for_grid(result.start)
    actions = sized.spec.action_indices(result.plan)
    save_gif(plan_frames(sized, result.start, actions, subgoals=result.subgoal_steps), gif)
