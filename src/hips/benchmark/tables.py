"""Tables of a section: success next to published values, costs, scores, outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from hips.benchmark import ipc_scores, published
from hips.benchmark.document import Table, number, percent
from hips.benchmark.experiments import MEAN, Experiment, Part, Point
from hips.benchmark.metrics import METRICS, RESOURCES, Better, Metric
from hips.benchmark.queries import Chosen, Results, Share
from hips.statistics import wilson_interval

NOTHING = "–"
COST_METRICS = (
    "expansions",
    "generated",
    "nodes_and_calls",
    "network_rows",
    "rows_per_expansion",
    "environment_steps",
    "dynamics_calls",
    "dynamics_rows",
    "seconds",
    "length",
    "num_segments",
    "plan_share",
    "expansion_share",
)
ARROWS = {Better.MORE: " ↑", Better.LESS: " ↓", Better.NEITHER: ""}


def success_table(experiment: Experiment, part: Part, chosen: Chosen) -> Table:
    """Share of solved instances at every point, with interval, next to the paper's."""
    amounts = [None if point is None else float(point) for point in part.points if point != MEAN]
    shares = chosen.success(amounts)
    costs = chosen.mean_cost()
    known = {point for point in part.points if _has_published(experiment, part, point)}
    columns = ["method"]
    for point in part.points:
        columns += [heading(part, point), *(["paper"] if point in known else [])]
    rows = []
    present = set(chosen.names())
    for row in part.rows:
        if row.name not in present:
            continue
        cells = [row.label]
        for point in part.points:
            if point == MEAN:
                cells.append(_mean_cell(costs.get(row.name)))
            else:
                cells.append(share_cell(shares[row.name, None if point is None else float(point)]))
            if point in known:
                cells.append(str(_published(experiment, part, row.name, point) or NOTHING))
        rows.append((*cells, _count(shares[row.name, amounts[0]])))
    return Table(part.suite.label, (*columns, "n"), tuple(rows))


def heading(part: Part, point: Point) -> str:
    """The heading of a point."""
    symbol = "s" if part.rows[0].resource == "seconds" else "N"
    if point == MEAN:
        return f"⟨{symbol}⟩"
    return "limit" if point is None else f"{symbol} = {point:g}"


def share_cell(share: Share) -> str:
    """Percent solved with the 95 % Wilson interval, and the standard error over seeds if any.

    With several models, which share their instances, only the standard error over models. Marked
    as a lower bound if searches ended before reaching the point.
    """
    low, high = wilson_interval(share.solved, share.total)
    error = "" if share.error is None else f" ± {percent(share.error)}"
    least = "≥ " if share.censored else ""
    shown = percent(share.solved / share.total)
    interval = "" if share.models > 1 else f" [{percent(low)}, {percent(high)}]"
    return f"{least}{shown}{error}{interval}"


def _count(share: Share) -> str:
    """Instances, and the number of models that ran them if there are several."""
    instances = share.total // share.models
    return f"{instances} × {share.models} models" if share.models > 1 else str(instances)


def upper_bound(share: Share) -> float:
    """The upper end of the interval of a share: two standard errors over models, or Wilson's."""
    if share.models > 1:
        return share.solved / share.total + 2 * (share.error or 0.0)
    return wilson_interval(share.solved, share.total)[1]


def cost_table(part: Part, chosen: Chosen, timed: bool) -> Table:
    """Means of the other metrics, on commonly solved instances where the metric requires it.

    Includes seconds only for timed searches, since searches in lockstep share them.
    """
    labels = {row.name: row.label for row in part.rows}
    metrics = [METRICS.get(name) for name in COST_METRICS if timed or name != "seconds"]
    means = {metric.name: chosen.mean(metric.name) for metric in metrics}
    metrics = [metric for metric in metrics if means[metric.name]]
    columns = ("method", *(_metric_heading(metric) for metric in metrics))
    rows = []
    for name in chosen.names():
        found = [(metric, means[metric.name].get(name)) for metric in metrics]
        rows.append((labels[name], *(_metric_cell(metric, mean) for metric, mean in found)))
    common = max((count for mean in means["expansions"].values() for count in mean[2:]), default=0)
    title = f"{part.suite.label}: means over {common} commonly solved"
    return Table(title, columns, tuple(rows), detail=True)


def score_table(part: Part, results: Results, timed: bool) -> Table:
    """The competition's scores; the agile score only for timed searches."""
    labels = {row.name: row.label for row in part.rows}
    columns = ("method", "coverage", *(("agile",) if timed else ()), "satisficing", "of")
    rows = []
    for name, score in ipc_scores.scores(results).items():
        fast = (f"{score.agile:.1f}",) if timed else ()
        short = f"{score.satisficing:.1f}"
        rows.append((labels[name], str(score.coverage), *fast, short, str(score.instances)))
    return Table(f"{part.suite.label}: competition scores", columns, tuple(rows), detail=True)


def outcome_table(part: Part, chosen: Chosen) -> Table:
    """How the searches ended."""
    labels = {row.name: row.label for row in part.rows}
    found = chosen.outcomes()
    outcomes = tuple(dict.fromkeys(sorted(outcome for _, outcome, _ in found)))
    counts = {(name, outcome): count for name, outcome, count in found}
    rows = tuple(
        (labels[name], *(str(counts.get((name, outcome), 0)) for outcome in outcomes))
        for name in chosen.names()
    )
    columns = ("method", *outcomes)
    return Table(f"{part.suite.label}: outcomes", columns, rows, detail=True)


def resource_label(resource: str) -> str:
    """The axis label of a resource."""
    return RESOURCES.get(resource).label


def below_paper(experiment: Experiment, part: Part, chosen: Chosen) -> list[str]:
    """Notes where our interval lies below the published mean."""
    amounts: Sequence[float | None] = [
        None if point is None else float(point) for point in part.points if point != MEAN
    ]
    found = []
    for (name, point), share in chosen.success(amounts).items():
        row = next(row for row in part.rows if row.name == name)
        theirs = _published(experiment, part, name, point)
        high = upper_bound(share)
        if theirs is not None and not share.censored and 100 * high < theirs.mean:
            ours = percent(share.solved / share.total)
            where = heading(part, point)
            found.append(
                f"Below the paper: {part.suite.label}, {row.label}, {where}: "
                f"{ours} against {theirs.mean:.1f}."
            )
    return sorted(found)


def _published(
    experiment: Experiment, part: Part, row: str, point: Point
) -> published.Published | None:
    return published.value(experiment.name, part.suite.name, row, point)


def _has_published(experiment: Experiment, part: Part, point: Point) -> bool:
    return any(_published(experiment, part, row.name, point) for row in part.rows)


def _mean_cell(mean: tuple[float, float, int] | None) -> str:
    return NOTHING if mean is None else f"{number(mean[0])} ± {number(mean[1])}"


def _metric_heading(metric: Metric) -> str:
    unit = f" ({metric.unit})" if metric.unit and metric.unit not in metric.label else ""
    return metric.label + unit + ARROWS[metric.better]


def _metric_cell(metric: Metric, mean: tuple[float, float, int] | None) -> str:
    if mean is None:
        return NOTHING
    return percent(mean[0]) if metric.unit == "%" else number(mean[0])
