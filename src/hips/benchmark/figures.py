"""Figures of a section: success curves, ratios of unsolved instances, low-level shares."""

from __future__ import annotations

from hips.benchmark.document import Curve, Figure
from hips.benchmark.experiments import Experiment, Part
from hips.benchmark.queries import Chosen
from hips.benchmark.tables import resource_label
from hips.planner.result import PROFILE_EDGES
from hips.statistics import wilson_interval

MAX_POINTS = 400


def success_figure(experiment: Experiment, part: Part, chosen: Chosen) -> Figure:
    """Share of solved instances as a function of the resource, with Wilson intervals."""
    curves = []
    present = set(chosen.names())
    found = {row.name: chosen.curve(row.name) for row in part.rows if row.name in present}
    every = sorted(cost for costs, _, _ in found.values() for cost in costs)
    for place, row in enumerate(part.rows):
        if row.name not in present:
            continue
        costs, counts, total = found[row.name]
        costs, counts = _spanning(*_thinned(costs, counts), every)
        intervals = [wilson_interval(count, total) for count in counts]
        curves.append(
            Curve(
                row.label,
                tuple(max(cost, 1e-3) for cost in costs),
                tuple(100 * count / total for count in counts),
                tuple(100 * low for low, _ in intervals),
                tuple(100 * high for _, high in intervals),
                colour=place,
            )
        )
    resource = part.rows[0].resource
    return Figure(
        f"{experiment.key}-{part.suite.name}",
        f"{part.suite.label}: solved",
        resource_label(resource),
        "solved (%)",
        tuple(curves),
    )


def ratio_figure(experiment: Experiment, part: Part, chosen: Chosen) -> Figure | None:
    """Unsolved instances of every row divided by those of the reference."""
    reference = part.ratio_to
    present = set(chosen.names())
    if reference is None or reference not in present:
        return None
    curves = []
    for place, row in enumerate(part.rows):
        if row.name in present and row.name != reference:
            x, y = chosen.ratio(row.name, reference)
            curves.append(Curve(row.label, tuple(x), tuple(y), colour=place))
    label = next(row.label for row in part.rows if row.name == reference)
    return Figure(
        f"{experiment.key}-{part.suite.name}-ratio",
        f"{part.suite.label}: unsolved, divided by {label}",
        resource_label(part.rows[0].resource),
        "ratio",
        tuple(curves),
        level=1.0,
    )


def share_figures(experiment: Experiment, part: Part, chosen: Chosen) -> list[Figure]:
    """The four panels of app:epsilon.

    Low-level share of plans and of expansions by row; probability that an expansion is low-level,
    and distribution of low-level expansions, over the course of the search.
    """
    labels = {row.name: row.label for row in part.rows}
    names = chosen.names()
    prefix = f"{experiment.key}-{part.suite.name}"
    categories = tuple(labels[name] for name in names)
    panels = [
        _bars(f"{prefix}-plans", "low-level steps in plans", "plan_share", chosen, categories),
        _bars(f"{prefix}-nodes", "low-level expansions", "expansion_share", chosen, categories),
    ]
    chances, totals = [], []
    for place, name in enumerate(names):
        profile = chosen.profile(name)
        x = tuple(float(PROFILE_EDGES[number]) for number, _, _ in profile)
        shares = tuple(100 * low / max(1, every) for _, low, every in profile)
        chances.append(Curve(labels[name], x, shares, colour=place))
        everything = sum(low for _, low, _ in profile)
        running, so_far = [], 0
        for _, low, _ in profile:
            so_far += low
            running.append(100 * so_far / max(1, everything))
        totals.append(Curve(labels[name], x, tuple(running), colour=place))
    chance = "chance that an expansion is low-level"
    spread = "low-level expansions so far"
    panels.append(Figure(f"{prefix}-chance", chance, "expansion", "low-level (%)", tuple(chances)))
    panels.append(Figure(f"{prefix}-cumulative", spread, "expansion", "of all (%)", tuple(totals)))
    return panels


def _bars(
    name: str, title: str, metric: str, chosen: Chosen, categories: tuple[str, ...]
) -> Figure:
    means = chosen.mean(metric, common=False)
    known = [(place, means[row]) for place, row in enumerate(chosen.names()) if row in means]
    curve = Curve(
        title,
        tuple(float(place) for place, _ in known),
        tuple(100 * mean for _, (mean, _, _) in known),
        tuple(100 * (mean - 2 * error) for _, (mean, error, _) in known),
        tuple(100 * (mean + 2 * error) for _, (mean, error, _) in known),
        dots=True,
    )
    return Figure(name, title, "", "%", (curve,), log_x=False, categories=categories)


def _thinned(costs: list[float], counts: list[int]) -> tuple[list[float], list[int]]:
    """At most `MAX_POINTS` of the points, including the last."""
    stride = max(1, -(-len(costs) // MAX_POINTS))
    kept = sorted({*range(0, len(costs), stride), len(costs) - 1} & set(range(len(costs))))
    return [costs[i] for i in kept], [counts[i] for i in kept]


def _spanning(
    costs: list[float], counts: list[int], every: list[float]
) -> tuple[list[float], list[int]]:
    """The curve extended to the first and last cost of all curves."""
    if every and (not costs or costs[0] > every[0]):
        costs, counts = [every[0], *costs], [0, *counts]
    if every and costs[-1] < every[-1]:
        costs, counts = [*costs, every[-1]], [*counts, counts[-1]]
    return costs, counts
