"""Paired tests of the rows of a table against its reference row."""

from __future__ import annotations

from collections.abc import Mapping

from hips.benchmark.compare import Pair, chance, cost_chance, mean_costs, solved_chance
from hips.benchmark.document import Table, number
from hips.benchmark.experiments import MEAN, Part
from hips.benchmark.queries import Chosen, Run
from hips.benchmark.tables import heading, resource_label

Runs = Mapping[tuple[str, int, str], Run]
"""Runs by instance, seed and model."""


def match(first: Runs, second: Runs) -> list[tuple[Run, Run]]:
    """Runs on the same instance, with the same model where both have several."""
    alone = {(instance, seed): run for (instance, seed, model), run in second.items() if not model}
    swapped = all(model for _, _, model in second)
    if swapped and not all(model for _, _, model in first):
        return [(one, other) for other, one in match(second, first)]
    found = []
    for (instance, seed, model), run in first.items():
        other = alone.get((instance, seed)) or second.get((instance, seed, model))
        if other is not None:
            found.append((run, other))
    return found


def pair(first: Runs, second: Runs, point: float | None) -> Pair:
    """Two rows of a table, instance by instance, within `point` of their resource."""
    matched = [(a, b, a.within(point), b.within(point)) for a, b in match(first, second)]
    return Pair(
        "",
        "",
        tuple((a.cost, b.cost) for a, b, a_solved, b_solved in matched if a_solved and b_solved),
        sum(a_solved and not b_solved for _, _, a_solved, b_solved in matched),
        sum(b_solved and not a_solved for _, _, a_solved, b_solved in matched),
        sum(not a_solved and not b_solved for _, _, a_solved, b_solved in matched),
    )


def table(part: Part, chosen: Chosen) -> list[Table]:
    """The tests of every row against the reference; none for a table of one row.

    Solved within each point: McNemar's exact test. Cost of the instances that both solved:
    Wilcoxon's signed-rank test.
    """
    runs = chosen.runs()
    rows = [row for row in part.rows if row.name in runs]
    name = part.reference or part.ratio_to or rows[-1].name
    reference = next((row for row in rows if row.name == name), rows[-1])
    points = [None if p is None else float(p) for p in part.points if p != MEAN]
    columns = (
        "method",
        *(f"{heading(part, point)}: +/−, p" for point in points),
        f"{resource_label(reference.resource)} of both: mean, reference, p",
    )
    made = []
    for row in rows:
        if row is reference:
            continue
        pairs = [pair(runs[row.name], runs[reference.name], point) for point in points]
        whole = pair(runs[row.name], runs[reference.name], None)
        ours, theirs = mean_costs(whole)
        made.append(
            (
                row.label,
                *(f"{p.only_first}/{p.only_second}, {chance(solved_chance(p))}" for p in pairs),
                f"{number(ours)}, {number(theirs)}, {chance(cost_chance(whole))}",
            )
        )
    title = f"{part.suite.label}: paired with {reference.label}"
    return [Table(title, columns, tuple(made))] if made else []
