"""Builds a report from a results file alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from hips.benchmark import experiments as catalogues
from hips.benchmark import figures, lines, paired, published, seal, strips, tables
from hips.benchmark.document import Document, Figure, Picture, Section, Table, unique
from hips.benchmark.experiments import Catalogue, Experiment, Part, Size
from hips.benchmark.queries import Chosen, Results, Selection
from hips.benchmark.suites import DEVELOPMENT, combined
from hips.benchmark.tasks import Limits
from hips.benchmark.variants import Variant
from hips.data import Progress
from hips.errors import HipsError
from hips.seeding import SEALED

Invocations: TypeAlias = dict[str, dict[str, Any]]
"""The last invocation that ran each suite for an experiment."""
Configurations: TypeAlias = dict[str, dict[str, list[str]]]
"""The configurations of every row when it was last run, by suite and variant."""
Kind: TypeAlias = tuple[str, str, bool]
"""Name of an experiment, its rule set, and whether its instances are sealed."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the sections of a report are made from.

    Attributes:
        results: the runs.
        configurations: of the rows, by rule set.
        common: whether rows on different instances are restricted to those in common; if not,
            the report has no table of them.
    """

    results: Results
    configurations: dict[str, Configurations]
    common: bool


def build(
    folder: Path,
    kinds: tuple[Kind, ...] = (),
    *,
    common: bool = False,
    progress: Progress | None = None,
) -> Document:
    """The report of a folder's results: the experiments of these kinds, or all.

    With `common`, rows that were run on different instances are reported on those that all have
    run; without, such a table is refused. `progress` is called with the number of finished
    sections and their total.
    """
    path = lines.find(folder)
    invocations = [line for line in lines.read(path) if line["type"] == "invocation"]
    results = Results(path)
    latest: dict[Kind, Invocations] = {}
    stood_for: dict[str, Configurations] = {}
    for invocation in invocations:
        rules = invocation["rules"]
        for name in invocation["experiments"]:
            kind = (name, rules, invocation["sealed"])
            latest.setdefault(kind, {}).update(dict.fromkeys(invocation["sources"], invocation))
        for suite, rows in invocation["configurations"].items():
            stood_for.setdefault(rules, {}).setdefault(suite, {}).update(rows)
    wanted = kinds or tuple(latest)
    unknown = [kind for kind in wanted if kind not in latest]
    if unknown:
        available = ", ".join(dict.fromkeys(name for name, _, _ in latest))
        raise HipsError(
            f"{path}: no results of experiment '{unknown[0][0]}'. Available: {available}."
        )
    sources = Sources(results, stood_for, common)
    ordered = _in_order(wanted, invocations)
    made: list[Section] = []
    for kind in ordered:
        if progress is not None:
            progress(len(made), len(ordered))
        made.append(_section(sources, kind, latest[kind]))
    made = strips.once(made)
    warning = seal.reopened(path.parent)
    return Document(
        "Benchmark of HIPS-ε",
        (
            "Every number comes from the JSON lines beside this report. Shares are in percent "
            "with 95 % Wilson intervals in brackets; with more than one seed, ± is the standard "
            "error over seeds; with more than one model, over models. `limit` is success within "
            "the limit of the runs; ≥ marks a lower bound, where searches were given up before "
            "that point.",
            "All rows of a table share their instances. Development instances were seen while "
            "settings and models were chosen; sealed ones were not. Paired tests compare every row "
            "with the reference: instances solved only by the row / only by the reference, with "
            "McNemar's exact p-value, and mean costs on instances that both solved, with that of "
            "Wilcoxon's signed-rank test; * marks p < 0.05.",
            f"Columns `paper`: {published.source()} (± is the standard error there).",
            *([f"**Warning**: {warning}"] if warning else []),
        ),
        tuple(made),
        unique(invocation["command"] for invocation in invocations if invocation["command"]),
        tuple((key, str(value)) for key, value in _environment(invocations).items()),
    )


def _in_order(wanted: tuple[Kind, ...], invocations: list[dict[str, Any]]) -> list[Kind]:
    """Rule sets one after the other, each with its experiments in the order of the catalogue."""
    order: list[str] = []
    rules: list[str] = []
    for invocation in invocations:
        book = _catalogue(invocation)
        order += [n for n in book.experiments if n not in order]
        rules += [n for n in book.rules if n not in rules]
    return sorted(wanted, key=lambda kind: (rules.index(kind[1]), kind[2], order.index(kind[0])))


def _catalogue(invocation: dict[str, Any]) -> Catalogue:
    content = invocation["catalogue"]
    return catalogues.load() if content is None else Catalogue(content)


def _environment(invocations: list[dict[str, Any]]) -> dict[str, Any]:
    last = invocations[-1] if invocations else {}
    return {"hips": last.get("version", ""), **last.get("environment", {})}


def _section(sources: Sources, kind: Kind, invocations: Invocations) -> Section:
    experiment = _experiment(kind, invocations)
    made_tables: list[Table] = []
    made_figures: list[Figure] = []
    pictures: list[Picture] = []
    notes: list[str] = []
    present: set[tuple[str, str]] = set()
    for part in experiment.parts:
        invocation = invocations.get(part.suite.name)
        if invocation is None:
            continue
        size = Size(**invocation["size"])
        stood_for = sources.configurations[experiment.rules.name]
        chosen = sources.results.choose(_selections(experiment, part, size, invocation, stood_for))
        present.update((part.suite.name, name) for name in chosen.names())
        notes += _comparable(experiment, part, chosen, sources.common)
        if chosen.uneven():
            continue
        if part.solved_by is not None:
            chosen.keep_solved_by(part.solved_by)
        if not chosen.names():
            continue
        made_tables.append(tables.success_table(experiment, part, chosen))
        made_tables += paired.table(part, chosen)
        made_tables.append(tables.cost_table(part, chosen, experiment.timed))
        made_tables.append(tables.score_table(part, sources.results, experiment.timed))
        made_tables.append(tables.outcome_table(part, chosen))
        made_figures += _figures(experiment, part, chosen)
        pictures += strips.draw(part, chosen)
        notes += _notes(experiment, part, size, chosen, invocation)
    if not made_tables:
        notes.append("Nothing to show: no runs, or none on an instance that counts.")
    instances = "sealed" if experiment.sealed else "development"
    return Section(
        experiment.key,
        f"{experiment.name}: {experiment.title} ({experiment.rules.label}, {instances} instances)",
        " ".join(text for text in (experiment.about, experiment.rules.about) if text),
        tuple(made_tables),
        tuple(made_figures),
        tuple(pictures),
        unique(_skip_notes(experiment, invocations, present) + notes),
    )


def _comparable(experiment: Experiment, part: Part, chosen: Chosen, common: bool) -> list[str]:
    """Restricts rows on different instances to the common ones, or says why there is no table."""
    counts = chosen.uneven()
    if not counts:
        return []
    labels = {row.name: row.label for row in part.rows}
    listed = ", ".join(f"{labels[name]} {count}" for name, count in counts.items())
    where = f"{part.suite.label}: the rows were run on different instances ({listed})"
    if common:
        chosen.keep_common()
        if chosen.names():
            return [f"{where}; the table has the {len(chosen.instances())} that all have run."]
    return [
        f"No table. {where}, and the rows of a table must share theirs. Run the missing ones "
        f"(`hips bench {experiment.name} --suite {part.suite.name} --problems "
        f"{max(counts.values())}`), or report those in common (`hips bench report --common`)."
    ]


def _experiment(kind: Kind, invocations: Invocations) -> Experiment:
    """The experiment of the catalogue under its rules, with the rows added when it was run."""
    name, rules, sealed = kind
    book = _catalogue(list(invocations.values())[-1])
    added = {
        entry["name"]: Variant(**{**entry, "family": None})
        for invocation in invocations.values()
        for entry in invocation["added"]
    }
    experiment = book.experiments.get(name).with_variants(tuple(added.values()))
    experiment = experiment.under(book.rules.get(rules))
    return experiment.on_sealed() if sealed else experiment


def _selections(
    experiment: Experiment,
    part: Part,
    size: Size,
    invocation: dict[str, Any],
    stood_for: Configurations,
) -> list[Selection]:
    limits = Limits.of(size, experiment, part)
    return [
        Selection(
            row.name,
            part.suite.name,
            invocation["sources"][part.suite.name],
            tuple(stood_for.get(part.suite.name, {}).get(row.variant.name, ())),
            limits.timed,
            limits.expansions,
            limits.seconds,
            row.resource,
        )
        for row in part.rows
    ]


def _figures(experiment: Experiment, part: Part, chosen: Chosen) -> list[Figure]:
    found = [figures.success_figure(experiment, part, chosen)]
    ratio = figures.ratio_figure(experiment, part, chosen)
    found += [] if ratio is None else [ratio]
    found += figures.share_figures(experiment, part, chosen) if part.shares else []
    return [figure for figure in found if any(curve.x for curve in figure.curves)]


def _skip_notes(
    experiment: Experiment, invocations: Invocations, present: set[tuple[str, str]]
) -> list[str]:
    """Notes on missing rows, with reasons."""
    skipped = {
        (skip["suite"], skip["variant"]): skip["reason"]
        for invocation in invocations.values()
        for skip in invocation["skipped"]
    }
    reasons: dict[tuple[str, str], list[str]] = {}
    for part in experiment.parts:
        for row in part.rows:
            reason = skipped.get((part.suite.name, row.variant.name))
            if reason is not None and (part.suite.name, row.name) not in present:
                reasons.setdefault((part.suite.label, reason), []).append(row.label)
    return [
        f"Not run on {suite}: {'; '.join(labels)} ({reason})."
        for (suite, reason), labels in reasons.items()
    ]


def _notes(
    experiment: Experiment, part: Part, size: Size, chosen: Chosen, invocation: dict[str, Any]
) -> list[str]:
    limits = Limits.of(size, experiment, part)
    limit = f"{limits.seconds:g} seconds" if limits.timed else f"{limits.expansions:,} expansions"
    hashes = chosen.instances()
    notes = [
        f"{part.suite.label}: {len(hashes)} {_sort(invocation['sources'][part.suite.name])} ("
        f"sha256 {combined(hashes)[:16]}), limit {limit} a search."
    ]
    labels = {row.name: row.label for row in part.rows}
    for name, count in chosen.cut_by_time().items():
        notes.append(
            f"{part.suite.label}, {labels[name]}: {count} searches were ended by the clock or by "
            "memory before their limit of expansions and count as unsolved."
        )
    return notes + tables.below_paper(experiment, part, chosen)


def _sort(source: str) -> str:
    """The sort of instances of a source."""
    drawn = source in (DEVELOPMENT, SEALED)
    return f"{source} instances" if drawn else f"instances of {source.removeprefix('levels:')}"
