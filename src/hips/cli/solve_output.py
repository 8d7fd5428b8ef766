"""What `hips solve` writes and shows while it runs, and at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from hips.arrays import Grid
from hips.cli.levels import LevelStream
from hips.cli.options import StatusColumn, make_bar, note
from hips.cli.records import Numbered, Output, as_line, make_record
from hips.cli.solve_options import OutputOptions
from hips.cli.summary import Summary
from hips.domains.base import Domain
from hips.domains.records import Level
from hips.engines import Engine
from hips.errors import ConfigError, LevelError, is_interrupt
from hips.files import write_json, write_text
from hips.methods.jobs import SolveJob
from hips.methods.streams import solve_on
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Observer, Round
from hips.planner.tree import TreeRecorder

GRAPHVIZ = (".dot", ".gv")


class Writer(Observer):
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
        self, writer: Writer, moved: Callable[[], None], better: Callable[[str], None]
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
def progress_of(
    label: str, levels: LevelStream, writer: Writer, status: Callable[[], str]
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
