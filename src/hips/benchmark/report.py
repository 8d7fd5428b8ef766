"""Makes a report from a file of results, and from nothing else."""

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
from hips.errors import HipsError
from hips.pictures import plan_frames

FRAMES = 6
STRIP_CELL_PIXELS = 180
GAP = 8
Sessions: TypeAlias = dict[str, dict[str, Any]]
"""By suite, the last session that ran it for an experiment."""


def build(folder: Path, names: tuple[str, ...] = ()) -> Document:
    """The report of a folder's results: the named experiments, or all that were run."""
    path = lines.find(folder)
    sessions = [line for line in lines.read(path) if line["type"] == "session"]
    results = Results(path)
    latest: dict[str, Sessions] = {}
    for session in sessions:
        for name in session["experiments"]:
            latest.setdefault(name, {}).update(dict.fromkeys(session["sources"], session))
    wanted = names or tuple(latest)
    unknown = [name for name in wanted if name not in latest]
    if unknown:
        raise HipsError(
            f"{path}: no results of experiment '{unknown[0]}'. Available: {', '.join(latest)}."
        )
    made = [_section(results, name, latest[name]) for name in _in_order(wanted, sessions)]
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
        unique(session["command"] for session in sessions if session["command"]),
        tuple((key, str(value)) for key, value in _environment(sessions).items()),
    )


def _in_order(wanted: tuple[str, ...], sessions: list[dict[str, Any]]) -> list[str]:
    """Experiments in the order of their catalogue."""
    order: list[str] = []
    for session in sessions:
        order += [n for n in _catalogue(session).experiments if n not in order]
    return sorted(wanted, key=order.index)


def _catalogue(session: dict[str, Any]) -> Catalogue:
    content = session["catalogue"]
    return catalogues.load() if content is None else Catalogue(content)


def _environment(sessions: list[dict[str, Any]]) -> dict[str, Any]:
    last = sessions[-1] if sessions else {}
    return {"hips": last.get("version", ""), **last.get("environment", {})}


def _section(results: Results, name: str, sessions: Sessions) -> Section:
    experiment = _catalogue(list(sessions.values())[-1]).experiments.get(name)
    made_tables: list[Table] = []
    made_figures: list[Figure] = []
    pictures: list[Picture] = []
    notes: list[str] = []
    present: set[tuple[str, str]] = set()
    for part in experiment.parts:
        session = sessions.get(part.suite.name)
        if session is None:
            continue
        size = Size(**session["size"])
        chosen = results.choose(_selections(experiment, part, size, session), part.solved_by)
        if not chosen.names():
            continue
        present.update((part.suite.name, name) for name in chosen.names())
        made_tables.append(tables.success_table(experiment, part, chosen))
        made_tables.append(tables.cost_table(part, chosen, experiment.timed))
        made_tables.append(tables.score_table(part, results, experiment.timed))
        made_tables.append(tables.outcome_table(part, chosen))
        made_figures += _figures(experiment, part, chosen)
        pictures += _pictures(part, chosen)
        notes += _notes(experiment, part, size, chosen, session)
    if not made_tables:
        notes.append("Nothing to show: no runs, or none on an instance that counts.")
    return Section(
        name,
        f"{name}: {experiment.title}",
        experiment.about,
        tuple(made_tables),
        tuple(made_figures),
        tuple(pictures),
        unique(_skip_notes(experiment, sessions, present) + notes),
    )


def _selections(
    experiment: Experiment, part: Part, size: Size, session: dict[str, Any]
) -> list[Selection]:
    limits = Limits.of(size, experiment, part)
    domain = part.suite.make_domain()
    return [
        Selection(
            row.name,
            part.suite.name,
            session["sources"][part.suite.name],
            row.method.configuration(domain),
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
    experiment: Experiment, sessions: Sessions, present: set[tuple[str, str]]
) -> list[str]:
    """Which rows are not there, and why."""
    skipped = {
        (skip["suite"], skip["method"]): skip["reason"]
        for session in sessions.values()
        for skip in session["skipped"]
    }
    reasons: dict[tuple[str, str], list[str]] = {}
    for part in experiment.parts:
        for row in part.rows:
            reason = skipped.get((part.suite.name, row.method.name))
            if reason is not None and (part.suite.name, row.name) not in present:
                reasons.setdefault((part.suite.label, reason), []).append(row.label)
    return [
        f"Not run on {suite}: {'; '.join(labels)} ({reason})."
        for (suite, reason), labels in reasons.items()
    ]


def _notes(
    experiment: Experiment, part: Part, size: Size, chosen: Chosen, session: dict[str, Any]
) -> list[str]:
    limits = Limits.of(size, experiment, part)
    limit = f"{limits.seconds:g} seconds" if limits.timed else f"{limits.expansions:,} expansions"
    hashes = chosen.instances()
    notes = [
        f"{part.suite.label}: {len(hashes)} instances ({session['sources'][part.suite.name]}, "
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
    """The plan of one instance by the last row that has one, as a strip of frames."""
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
