"""Builds a report from a results file alone."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from PIL import Image as PillowImage

from hips import domains
from hips.benchmark import experiments as catalogues
from hips.benchmark import figures, lines, published, tables
from hips.benchmark.document import Document, Figure, Picture, Section, Table, unique
from hips.benchmark.experiments import Catalogue, Experiment, Part, Size
from hips.benchmark.queries import Chosen, Results, Selection
from hips.benchmark.suites import combined
from hips.benchmark.tasks import Limits
from hips.benchmark.variants import Variant
from hips.errors import HipsError
from hips.pictures import plan_frames

FRAMES = 6
STRIP_CELL_PIXELS = 180
GAP = 8
Invocations: TypeAlias = dict[str, dict[str, Any]]
"""The last invocation that ran each suite for an experiment."""
Configurations: TypeAlias = dict[str, dict[str, str]]
"""The configuration of every row when it was last run, by suite and variant."""


def build(folder: Path, names: tuple[str, ...] = ()) -> Document:
    """The report of a folder's results: the named experiments, or all."""
    path = lines.find(folder)
    invocations = [line for line in lines.read(path) if line["type"] == "invocation"]
    results = Results(path)
    latest: dict[str, Invocations] = {}
    stood_for: Configurations = {}
    for invocation in invocations:
        for name in invocation["experiments"]:
            latest.setdefault(name, {}).update(dict.fromkeys(invocation["sources"], invocation))
        for suite, rows in invocation["configurations"].items():
            stood_for.setdefault(suite, {}).update(rows)
    wanted = names or tuple(latest)
    unknown = [name for name in wanted if name not in latest]
    if unknown:
        raise HipsError(
            f"{path}: no results of experiment '{unknown[0]}'. Available: {', '.join(latest)}."
        )
    made = [
        _section(results, name, latest[name], stood_for) for name in _in_order(wanted, invocations)
    ]
    return Document(
        "Benchmark of HIPS-ε",
        (
            "Every number comes from the JSON lines beside this report. Shares are in percent "
            "with 95 % Wilson intervals in brackets; with more than one seed, ± is the standard "
            "error over seeds. `limit` is success within the limit of the runs; ≥ marks a lower "
            "bound, where searches were given up before that point.",
            f"Columns `paper`: {published.source()} (± is the standard error there).",
        ),
        tuple(made),
        unique(invocation["command"] for invocation in invocations if invocation["command"]),
        tuple((key, str(value)) for key, value in _environment(invocations).items()),
    )


def _in_order(wanted: tuple[str, ...], invocations: list[dict[str, Any]]) -> list[str]:
    """Experiments in the order of their catalogue."""
    order: list[str] = []
    for invocation in invocations:
        order += [n for n in _catalogue(invocation).experiments if n not in order]
    return sorted(wanted, key=order.index)


def _catalogue(invocation: dict[str, Any]) -> Catalogue:
    content = invocation["catalogue"]
    return catalogues.load() if content is None else Catalogue(content)


def _environment(invocations: list[dict[str, Any]]) -> dict[str, Any]:
    last = invocations[-1] if invocations else {}
    return {"hips": last.get("version", ""), **last.get("environment", {})}


def _section(
    results: Results, name: str, invocations: Invocations, stood_for: Configurations
) -> Section:
    experiment = _experiment(name, invocations)
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
        selections = _selections(experiment, part, size, invocation, stood_for)
        chosen = results.choose(selections, part.solved_by)
        if not chosen.names():
            continue
        present.update((part.suite.name, name) for name in chosen.names())
        made_tables.append(tables.success_table(experiment, part, chosen))
        made_tables.append(tables.cost_table(part, chosen, experiment.timed))
        made_tables.append(tables.score_table(part, results, experiment.timed))
        made_tables.append(tables.outcome_table(part, chosen))
        made_figures += _figures(experiment, part, chosen)
        pictures += _pictures(part, chosen)
        notes += _notes(experiment, part, size, chosen, invocation)
    if not made_tables:
        notes.append("Nothing to show: no runs, or none on an instance that counts.")
    return Section(
        name,
        f"{name}: {experiment.title}",
        experiment.about,
        tuple(made_tables),
        tuple(made_figures),
        tuple(pictures),
        unique(_skip_notes(experiment, invocations, present) + notes),
    )


def _experiment(name: str, invocations: Invocations) -> Experiment:
    """The experiment of the catalogue, with the rows added when it was run."""
    experiment = _catalogue(list(invocations.values())[-1]).experiments.get(name)
    added = {
        entry["name"]: Variant(**entry)
        for invocation in invocations.values()
        for entry in invocation["added"]
    }
    return experiment.with_variants(tuple(added.values()))


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
            stood_for.get(part.suite.name, {}).get(row.variant.name, ""),
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
        f"{part.suite.label}: {len(hashes)} instances ({invocation['sources'][part.suite.name]}, "
        f"sha256 {combined(hashes)[:16]}), limit {limit} a search."
    ]
    labels = {row.name: row.label for row in part.rows}
    for name, count in chosen.cut_by_time().items():
        notes.append(
            f"{part.suite.label}, {labels[name]}: {count} searches were ended by the clock or by "
            "memory before their limit of expansions and count as unsolved."
        )
    return notes + tables.below_paper(experiment, part, chosen)


def _pictures(part: Part, chosen: Chosen) -> list[Picture]:
    """A strip of frames of one instance's plan, by the last row that has one."""
    for row in reversed(part.rows):
        found = chosen.example(row.name)
        if found is None:
            continue
        name, parameters, level, plan = found
        if name not in domains.names():
            return []
        domain = domains.create(name, **json.loads(parameters))
        actions = domain.spec.action_indices(plan)
        cell = max(2, STRIP_CELL_PIXELS // max(domain.spec.shape))
        frames = plan_frames(domain, domain.parse(level), actions, cell)
        places = np.unique(np.linspace(0, len(frames) - 1, FRAMES).astype(int))
        caption = f"{part.suite.label}: a plan of {len(plan)} steps by {row.label}"
        return [Picture(caption, _strip([frames[place] for place in places]))]
    return []


def _strip(frames: list[domains.Image]) -> bytes:
    """Frames side by side, as a PNG."""
    gap = np.full((frames[0].shape[0], GAP, 3), 255, dtype=np.uint8)
    pieces = [piece for frame in frames for piece in (frame, gap)][:-1]
    target = io.BytesIO()
    PillowImage.fromarray(np.concatenate(pieces, axis=1)).save(target, "PNG", optimize=True)
    return target.getvalue()
