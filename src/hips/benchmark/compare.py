"""Compares two result sets instance by instance, with significance tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hips.benchmark import lines, seal
from hips.benchmark.document import Curve, Document, Figure, Section, Table, number
from hips.benchmark.metrics import RESOURCES
from hips.benchmark.queries import Results
from hips.errors import HipsError, MissingExtraError

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Pair:
    """The instances that two searches have both run.

    Attributes:
        suite: name of the suite.
        configuration: method and settings of the search.
        both: costs (first, second) of instances that both solved.
        only_first: instances solved only by the first.
        only_second: instances solved only by the second.
        neither: instances solved by neither.
    """

    suite: str
    configuration: str
    both: tuple[tuple[float, float], ...]
    only_first: int
    only_second: int
    neither: int

    @property
    def total(self) -> int:
        """Number of instances in both sets."""
        return len(self.both) + self.only_first + self.only_second + self.neither


def pairs(first: Path, second: Path, resource: str = "expansions") -> list[Pair]:
    """The runs common to two folders, matched by instance and configuration.

    Raises:
        HipsError: the folders have no runs in common, or runs on sealed instances: comparing is
            how settings and models are chosen.
    """
    for folder in (first, second):
        seal.refuse_results(lines.find(folder), "`hips bench compare`")
    cost = RESOURCES.get(resource).expression
    one, two = (Results(lines.find(folder)) for folder in (first, second))
    columns = "suite, configuration, timed, instance, seed"
    query = f"SELECT {columns}, min(solved::INT) AS solved, avg({cost}) AS cost FROM runs GROUP BY "
    table = "matched_second"
    one.execute(
        f"CREATE TEMP TABLE {table} (suite VARCHAR, configuration VARCHAR, timed BOOLEAN, "
        "instance VARCHAR, seed BIGINT, solved INT, cost DOUBLE)"
    )
    rows = two.ask(query + columns)
    if rows:
        one.connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    found = one.ask(
        f"SELECT suite, configuration, list([a.cost, b.cost]) FILTER (WHERE a.solved = 1 AND "
        "b.solved = 1), count(*) FILTER (WHERE a.solved > b.solved), "
        "count(*) FILTER (WHERE a.solved < b.solved), "
        "count(*) FILTER (WHERE a.solved = 0 AND b.solved = 0) "
        f"FROM ({query}{columns}) a JOIN {table} b USING ({columns}) "
        "GROUP BY suite, configuration, timed ORDER BY suite, configuration"
    )
    if not found:
        raise HipsError(f"{first} and {second} have no runs in common (same instance and method).")
    return [
        Pair(suite, configuration, tuple((a, b) for a, b in both or ()), ahead, behind, neither)
        for suite, configuration, both, ahead, behind, neither in found
    ]


def solved_chance(pair: Pair) -> float:
    """McNemar's exact test: p-value of the split if both solve equally often."""
    differing = pair.only_first + pair.only_second
    return float(_statistics().binomtest(pair.only_first, differing).pvalue) if differing else 1.0


def cost_chance(pair: Pair) -> float:
    """Wilcoxon's signed-rank test on the costs of instances that both solved."""
    if all(a == b for a, b in pair.both):
        return 1.0
    found = _statistics().wilcoxon([a for a, _ in pair.both], [b for _, b in pair.both])
    return float(found.pvalue)


def build(first: Path, second: Path, resource: str = "expansions") -> Document:
    """The comparison as a report: one scatter per suite and configuration."""
    found = pairs(first, second, resource)
    label = RESOURCES.get(resource).label
    columns = (
        "suite, method",
        "n",
        "both",
        "only A",
        "only B",
        "neither",
        "p (solved)",
        f"mean {label} A",
        f"mean {label} B",
        "p (cost)",
    )
    section = Section(
        "compare",
        f"A: {first}, B: {second}",
        "Instances are matched by hash. p (solved): McNemar's exact test; p (cost): Wilcoxon's "
        f"signed-rank test on commonly solved instances; below {SIGNIFICANT} a difference is "
        "unlikely to be chance, unless many comparisons are made.",
        (Table("Common runs", columns, tuple(_row(pair) for pair in found)),),
        tuple(_scatter(pair, number, label) for number, pair in enumerate(found)),
    )
    return Document("Comparison of two result sets", (), (section,))


def mean_costs(pair: Pair) -> tuple[float, float]:
    """Mean costs (first, second) of the instances that both solved; 0 if there are none."""
    count = max(1, len(pair.both))
    return sum(a for a, _ in pair.both) / count, sum(b for _, b in pair.both) / count


def _row(pair: Pair) -> tuple[str, ...]:
    means = mean_costs(pair)
    return (
        f"{pair.suite}, {pair.configuration}",
        str(pair.total),
        str(len(pair.both)),
        str(pair.only_first),
        str(pair.only_second),
        str(pair.neither),
        chance(solved_chance(pair)),
        *(number(mean) for mean in means),
        chance(cost_chance(pair)),
    )


def chance(value: float) -> str:
    """A p-value, starred if significant."""
    return f"{value:.3g}" + (" *" if value < SIGNIFICANT else "")


def _scatter(pair: Pair, place: int, label: str) -> Figure:
    x, y = (tuple(max(costs[side], 1e-3) for costs in pair.both) for side in (0, 1))
    title = f"{pair.suite}, {pair.configuration}"
    curve = Curve("instances", x, y, dots=True)
    return Figure(f"compare-{place}", title, f"{label}, A", f"{label}, B", (curve,), diagonal=True)


def _statistics() -> Any:
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtraError("Comparing results", "bench") from None
    return stats
