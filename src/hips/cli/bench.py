"""`hips bench`: every table and figure of the paper by name, reports and comparisons."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from typer.core import TyperGroup

from hips.cli.bench_selection import SelectionOptions, choose
from hips.cli.groups import with_groups
from hips.cli.options import (
    EngineOptions,
    JsonOption,
    PluginOption,
    load_plugins,
    note,
    print_json,
    progress_bar,
)
from hips.files import write_text

if TYPE_CHECKING:
    from hips.benchmark.document import Document
    from hips.benchmark.experiments import Size
    from hips.benchmark.runner import Request, Summary
    from hips.benchmark.tasks import Cell
    from hips.planner.result import Result

DEFAULT_FOLDER = Path("bench-results")
RUN = "run"
FIGURES = "figures"
SECONDS_BETWEEN_DRAWINGS = 0.2

OutOption = Annotated[
    Path,
    typer.Option("--out", "-o", help="Results folder; finished runs in it are not repeated."),
]
CatalogueOption = Annotated[
    Path | None, typer.Option("--catalogue", help="JSON file with your own experiments.")
]
FolderArgument = Annotated[Path, typer.Argument(help="Folder of results.")]
ResourceOption = Annotated[
    str, typer.Option("--resource", help="Metric to compare, e.g. expansions or seconds.")
]


class _Group(TyperGroup):
    """A group in which any name that is not a verb is an experiment."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb, or `run` with the experiment's name as its first argument."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            return RUN, self.commands[RUN], args
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    help="Run the paper's experiments by name (`hips bench list`), report and compare results.",
    epilog="For example: hips bench table1 --size quick",
)


def register(parent: typer.Typer) -> None:
    """Adds the verb to the command line."""
    parent.add_typer(app, name="bench")


@dataclass(frozen=True, slots=True)
class SizeOptions:
    """Limits that override those of the size."""

    problems: Annotated[
        int | None, typer.Option("--problems", "-n", min=1, help="Instances per suite and seed.")
    ] = None
    max_expansions: Annotated[int | None, typer.Option(min=0, help="Limit of a search.")] = None
    max_seconds: Annotated[float | None, typer.Option(min=0, help="Limit of a timed search.")] = (
        None
    )
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Time for everything; remaining runs stay open.")
    ] = None
    batch: Annotated[int | None, typer.Option(min=1, help="Searches in lockstep.")] = None
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds for sampling: 0, 1, …")] = 1

    def make(self, asked: Size, experiments: int) -> Size:
        """The requested size, with its limits overridden by these."""
        limits: dict[str, Any] = {
            "problems": self.problems,
            "timed_problems": self.problems,
            "expansions": self.max_expansions,
            "seconds": self.max_seconds,
            "minutes": self.minutes,
            "chunk": self.batch,
        }
        own = {key: value for key, value in limits.items() if value is not None}
        if asked.minutes is not None and self.minutes is None:
            own["minutes"] = asked.minutes * experiments
        return dataclasses.replace(asked, **own)


@app.command(RUN)
@with_groups
def run_experiments(
    names: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT...", help="Names of experiments, or all.")
    ],
    selection: SelectionOptions,
    limits: SizeOptions,
    engine: EngineOptions,
    out: OutOption = DEFAULT_FOLDER,
    catalogue: CatalogueOption = None,
    json: JsonOption = False,
    plugin: PluginOption = None,
) -> None:
    """Run experiments by name and report their results; finished runs are not repeated.

    For example:

      hips bench table1 --size quick

      hips bench table1 --suite sokoban --levels unfiltered.txt --problems 100 --out boxoban

      hips bench all --size quick --workers 2

      hips bench table1 --rules paper --sealed --size standard --out final

      hips bench swap --suite sokoban --model runs/mine/model --donor sokoban
    """
    from hips.benchmark import experiments, report, report_markdown, runner

    load_plugins(plugin)
    book = experiments.load(catalogue)
    chosen, added = choose(book, names, selection, out)
    request = runner.Request(
        chosen,
        limits.make(book.sizes.get(selection.size), len(chosen)),
        tuple(range(limits.seeds)),
        shlex.join(["hips", *sys.argv[1:]]),
        engine.make(),
        None if catalogue is None else book.content,
        added,
    )
    summary = _watch(request, out)
    kinds = tuple((one.name, one.rules.name, one.sealed) for one in chosen)
    document = report.build(out, kinds)
    _write_report(report.build(out), out)
    if json:
        print_json(dataclasses.asdict(summary))
    else:
        for section in document.sections:
            blocks = report_markdown.render_section(section, detail=False)
            typer.echo("\n\n".join(blocks) + "\n")
    note(_closing(summary, out))


@app.command("list")
def list_experiments(
    catalogue: CatalogueOption = None, json: JsonOption = False, plugin: PluginOption = None
) -> None:
    """List experiments, suites and methods by name."""
    from hips.benchmark import experiments

    load_plugins(plugin)
    book = experiments.load(catalogue)
    if json:
        kinds = ("experiments", "rules", "suites", "methods", "sizes")
        print_json({kind: list(getattr(book, kind).names()) for kind in kinds})
        return
    table = Table("experiment", "what it shows", "rules", "suites", "methods")
    for name in book.experiments:
        experiment = book.experiments.get(name)
        rows = dict.fromkeys(row.variant.name for part in experiment.parts for row in part.rows)
        suites = ", ".join(part.suite.name for part in experiment.parts)
        rules = ", ".join(experiment.allowed)
        table.add_row(name, experiment.title, rules, suites, ", ".join(rows))
    Console().print(table)


@app.command("report")
def make_report(
    folder: FolderArgument = DEFAULT_FOLDER,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output folder; default: the results folder.")
    ] = None,
    common: Annotated[
        bool,
        typer.Option(
            "--common", help="Report rows on different instances on those in common, with a note."
        ),
    ] = False,
    plugins: PluginOption = None,
) -> None:
    """Write the report of a results folder: report.md, report.html and figures."""
    from hips.benchmark import report

    load_plugins(plugins)
    target = folder if out is None else out
    with progress_bar("sections") as progress:
        document = report.build(folder, common=common, progress=progress)
    for path in _write_report(document, target):
        typer.echo(str(path))


@app.command("compare")
def compare_results(
    first: FolderArgument,
    second: FolderArgument,
    resource: ResourceOption = "expansions",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for report.md and report.html.")
    ] = None,
) -> None:
    """Compare two results folders instance by instance, with significance tests.

    Comparing is how settings are chosen, so results on sealed instances are refused; a report
    has paired tests of them.

    For example:

      hips bench compare before after --out comparison
    """
    from hips.benchmark import compare, report_markdown

    document = compare.build(first, second, resource)
    if out is not None:
        _write_report(document, out)
    for section in document.sections:
        typer.echo("\n\n".join(report_markdown.render_section(section)))


def _write_report(document: Document, folder: Path) -> list[Path]:
    """Writes a report in every format; returns the files."""
    from hips.benchmark import report_html, report_markdown, report_svg

    page, text = folder / "report.html", folder / "report.md"
    write_text(page, report_html.render(document))
    write_text(text, report_markdown.render(document, figures=FIGURES))
    return [text, page, *report_svg.write(document, folder / FIGURES)]


def _closing(summary: Summary, folder: Path) -> str:
    left = f", {summary.cut_short} left open (repeat the command)" if summary.cut_short else ""
    return f"{summary.written} new runs{left}; results and report are in {folder}."


class _LiveTable:
    """A table of all cells, redrawn while the benchmark runs.

    Args:
        status: what the engine says about itself.
    """

    def __init__(self, status: Callable[[], str]) -> None:
        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
        self._cells: dict[tuple[str, str, bool], list[int]] = {}
        self._status = status
        self._began = self._drawn = time.monotonic()

    def __enter__(self) -> _LiveTable:
        self._live.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._live.stop()

    def begin(self, cell: Cell, done: int, total: int) -> None:
        """Adds a row."""
        self._cells[_place(cell)] = [done, total, 0, 0, 0]
        self._draw()

    def advance(self, cell: Cell, result: Result) -> None:
        """Counts a run."""
        counts = self._cells[_place(cell)]
        counts[0] += 1
        counts[2] += 1
        counts[3] += result.solved
        counts[4] += result.statistics.expansions
        if time.monotonic() - self._drawn > SECONDS_BETWEEN_DRAWINGS:
            self._draw()

    def _caption(self) -> str:
        """Runs, the engine's status and the time left."""
        done, total, new = (sum(counts[i] for counts in self._cells.values()) for i in range(3))
        left = (total - done) * (time.monotonic() - self._began) / max(1, new)
        remaining = f" · about {timedelta(seconds=round(left))} left" if new else ""
        return f"{done:,} of {total:,} runs {self._status()}{remaining}"

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        table = Table("suite", "method", "runs", "solved", "mean N", caption=self._caption())
        for (suite, method, _), counts in self._cells.items():
            done, total, new, solved, expansions = counts
            share = f"{100 * solved / new:.0f} %" if new else ""
            mean = f"{expansions / new:.0f}" if new else ""
            table.add_row(suite, method, f"{done}/{total}", share, mean)
        self._live.update(table, refresh=True)


def _place(cell: Cell) -> tuple[str, str, bool]:
    return cell.suite.label, cell.variant.label, cell.limits.timed


def _watch(request: Request, folder: Path) -> Summary:
    from hips.benchmark import runner, seal

    with _LiveTable(request.engine.status) as watcher:
        summary = runner.run(request, folder, watcher)
    for skip in summary.skipped:
        note(f"skipped: {skip['variant']} on {skip['suite']}: {skip['reason']}")
    if request.experiments[0].sealed and (warning := seal.reopened(folder)):
        note(f"WARNING: {warning}")
    return summary
