"""What `hips bench` runs: experiments restricted to suites and methods, under a rule set."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hips.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from hips.benchmark.experiments import Catalogue, Experiment
    from hips.benchmark.variants import Variant

ALL = "all"


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """The part of an experiment to run."""

    size: Annotated[str, typer.Option(help="quick, standard or full.")] = "quick"
    suites: Annotated[
        list[str] | None, typer.Option("--suite", help="Only this suite; repeatable.")
    ] = None
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="Only this method (catalogue or registered); repeatable."),
    ] = None
    levels: Annotated[
        list[str] | None,
        typer.Option(
            "--levels",
            "-l",
            metavar="[SUITE=]FILE",
            help="Levels from a file instead of sampled instances; repeatable.",
        ),
    ] = None
    model: Annotated[
        str | None, typer.Option(help="Name or folder of a model, instead of the domain's.")
    ] = None
    donor: Annotated[
        str | None,
        typer.Option(help="For `swap`: the model whose parts replace those of --model."),
    ] = None
    rules: Annotated[
        str | None,
        typer.Option(help="Rule set: full (shipped models) or paper; default: the experiment's."),
    ] = None
    sealed: Annotated[
        bool,
        typer.Option(
            "--sealed", help="Run on the instances kept for final figures; opened on record."
        ),
    ] = False


def choose(
    book: Catalogue, names: Sequence[str], selection: SelectionOptions, out: Path
) -> tuple[tuple[Experiment, ...], tuple[Variant, ...]]:
    """The requested experiments, and the variants in them that the catalogue does not list.

    They are restricted to the requested suites and methods. All have the same rules.
    """
    suites, methods = tuple(selection.suites or ()), tuple(selection.methods or ())
    for name in suites:
        book.suites.get(name)
    variants = tuple(book.find_variant(name) for name in methods)
    added = tuple(one for one in variants if one.name not in book.methods)
    wanted = [book.experiments.get(name) for name in _names(book, names, selection.rules)]
    rules = book.rules.get(selection.rules or wanted[0].allowed[0])
    found = [one.with_variants(added) for one in wanted]
    found = [one.restricted(suites, ()) for one in found]
    found = [_swapped(one, selection, out) for one in found]
    added += tuple(_swapped_rows(found))
    found = [one.under(rules).restricted((), methods) for one in found]
    found = [one for one in found if one.parts]
    if not found:
        raise ConfigError("No experiment has these suites and methods; see `hips bench list`.")
    files = _files(selection.levels or (), {p.suite.name for one in found for p in one.parts})
    found = [one.with_levels(files) for one in found]
    if selection.sealed:
        found = [one.on_sealed() for one in found]
    model = selection.model
    if model is not None:
        found = [one if one.swap is not None else one.with_model(model) for one in found]
    return tuple(found), added


def _names(book: Catalogue, names: Sequence[str], rules: str | None) -> list[str]:
    """The requested experiments; all of a rule set for `all`, which leaves out the swaps."""
    if ALL not in names:
        return list(dict.fromkeys(names))
    chosen = rules or book.rules.names()[0]
    every = [(name, book.experiments.get(name)) for name in book.experiments]
    return [name for name, one in every if chosen in one.allowed and one.swap is None]


def _swapped(experiment: Experiment, selection: SelectionOptions, out: Path) -> Experiment:
    """The experiment with its rows of combined models, if it has such rows."""
    from hips.benchmark import swaps

    if experiment.swap is None:
        return experiment
    given = {"base": selection.model, "donor": selection.donor}
    own = {name: model for name, model in given.items() if model is not None}
    swap = dataclasses.replace(experiment.swap, **own)
    return swaps.fill(dataclasses.replace(experiment, swap=swap), out / "models")


def _swapped_rows(experiments: Sequence[Experiment]) -> list[Variant]:
    """The variants of combined models."""
    parts = [part for one in experiments if one.swap is not None for part in one.parts]
    return list({row.variant.name: row.variant for p in parts for row in p.rows}.values())


def _files(levels: Sequence[str], suites: set[str]) -> dict[str, tuple[Path, ...]]:
    """Level files by suite; the suite may be omitted if there is only one."""
    files: dict[str, tuple[Path, ...]] = {}
    for entry in levels:
        suite, equals, file = entry.partition("=")
        if not equals:
            if len(suites) > 1:
                raise ConfigError(
                    f"'--levels {entry}' could be for any of {', '.join(sorted(suites))}; "
                    "write --levels SUITE=FILE, or choose one with --suite."
                )
            suite, file = next(iter(suites)), entry
        if suite not in suites:
            available = ", ".join(sorted(suites))
            raise UnknownNameError(f"Suite '{suite}' is not in this run. Available: {available}.")
        files[suite] = (*files.get(suite, ()), Path(file))
    return files
