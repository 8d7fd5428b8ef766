"""DuckDB queries on a results file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hips.benchmark import lines
from hips.benchmark.metrics import METRICS, RESOURCES
from hips.errors import ConfigError, MissingExtraError
from hips.planner.result import PROFILE_EDGES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMBER = r"regexp_extract(configuration, ' model=(\S+)$', 1)"
"""The model that a configuration names; empty for the domain's own."""

FIELDS: Mapping[str, str] = {
    "type": "VARCHAR",
    "version": "VARCHAR",
    "suite": "VARCHAR",
    "source": "VARCHAR",
    "domain": "VARCHAR",
    "parameters": "JSON",
    "seed": "BIGINT",
    "index": "BIGINT",
    "instance": "VARCHAR",
    "level": "VARCHAR",
    "variant": "VARCHAR",
    "method": "VARCHAR",
    "note": "VARCHAR",
    "configuration": "VARCHAR",
    "model": "VARCHAR",
    "timed": "BOOLEAN",
    "limit_expansions": "BIGINT",
    "limit_seconds": "DOUBLE",
    "outcome": "VARCHAR",
    "plan": "VARCHAR[]",
    "length": "BIGINT",
    "segments": "STRUCT(kind VARCHAR, label VARCHAR, steps BIGINT)[]",
    "expansions": "BIGINT",
    "action_expansions": "BIGINT",
    "action_profile": "BIGINT[]",
    "generated": "BIGINT",
    "network_rows": "BIGINT",
    "reach_rows": "BIGINT",
    "dynamics_rows": "BIGINT",
    "dynamics_calls": "BIGINT",
    "environment_steps": "BIGINT",
    "replans": "BIGINT",
    "seconds": "DOUBLE",
    "elapsed_seconds": "DOUBLE",
    "peak_bytes": "BIGINT",
}
"""The queried fields of a run, with their types."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Criteria for the runs of a table row."""

    name: str
    suite: str
    source: str
    configurations: tuple[str, ...]
    timed: bool
    limit_expansions: int | None
    limit_seconds: float | None
    resource: str


@dataclass(frozen=True, slots=True)
class Share:
    """Solved instances of a row at a point.

    Attributes:
        solved: number of solved instances.
        total: number of instances.
        error: standard error over models, or over seeds; None for a single one.
        censored: unsolved instances whose search ended before reaching the point.
        models: number of models; each has run all instances.
    """

    solved: int
    total: int
    error: float | None
    censored: int = 0
    models: int = 1


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of one run: whether and at which cost it was solved."""

    solved: bool
    cost: float

    def within(self, point: float | None) -> bool:
        """Whether it was solved at a cost of at most `point`; None for the limit of the run."""
        return self.solved and (point is None or self.cost <= point)


class Results:
    """The runs of one file, as the table `runs` with a column per metric."""

    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtraError("Evaluating results", "bench") from None
        for _ in lines.read(path):  # reports damage with its line number; DuckDB would not
            pass
        self.path = path
        self.connection: DuckDBPyConnection = duckdb.connect()
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in FIELDS.items())
        # A metric may share its name with a field; add only the others as columns.
        extra = ", ".join(
            f"{METRICS.get(name).expression} AS {name}" for name in METRICS if name not in FIELDS
        )
        self.execute(
            f"CREATE TABLE runs AS SELECT *, {extra} FROM read_json(?, "
            f"format = 'newline_delimited', columns = {{{columns}}}, ignore_errors = true, "
            "maximum_object_size = 268435456) WHERE type = 'run'",
            [str(path)],
        )
        self._check_versions()

    def _check_versions(self) -> None:
        found = self.ask("SELECT DISTINCT version FROM runs ORDER BY version")
        if len(found) > 1:
            raise ConfigError(
                f"{self.path}: mixes results of versions {', '.join(v for (v,) in found)}; "
                "report each from its own file."
            )

    def ask(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return list(self.execute(query, parameters).fetchall())

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> DuckDBPyConnection:
        """Runs a query. Ctrl-C stops it as it stops everything; DuckDB raises another error."""
        try:
            return self.connection.execute(query, list(parameters))
        except RuntimeError as error:
            if "interrupted" in str(error):
                raise KeyboardInterrupt from error
            raise

    def choose(self, selections: Sequence[Selection]) -> Chosen:
        """Selects the runs of some rows."""
        costs = " ".join(
            f"WHEN '{name}' THEN {RESOURCES.get(name).expression}" for name in RESOURCES
        )
        self.execute("DROP TABLE IF EXISTS chosen")
        pieces: list[str] = []
        parameters: list[Any] = []
        for place, one in enumerate(selections):
            pieces.append(
                f"SELECT {place} AS place, ? AS name, CASE ? {costs} END::DOUBLE AS cost, "
                f"{MEMBER} AS member, runs.* FROM runs "
                "WHERE suite = ? AND source = ? AND list_contains(?, configuration) AND timed = ? "
                "AND limit_expansions IS NOT DISTINCT FROM ? "
                "AND limit_seconds IS NOT DISTINCT FROM ?"
            )
            parameters += [one.name, one.resource, one.suite, one.source]
            parameters.append(list(one.configurations))
            parameters += [one.timed, one.limit_expansions, one.limit_seconds]
        self.execute(f"CREATE TEMP TABLE chosen AS {' UNION ALL '.join(pieces)}", parameters)
        # Older lines lack a metric that was declared later; a row cannot be counted by it.
        self.execute("DELETE FROM chosen WHERE cost IS NULL")
        return Chosen(self)


class Chosen:
    """Queries on the runs selected by `Results.choose`."""

    def __init__(self, results: Results) -> None:
        self._ask = results.ask

    def names(self) -> list[str]:
        """Rows with runs, in order."""
        return [
            n for (n,) in self._ask("SELECT name FROM chosen GROUP BY name ORDER BY min(place)")
        ]

    def runs(self) -> dict[str, dict[tuple[str, int, str], Run]]:
        """The runs of every row, by instance, seed and model (empty if the row has only one)."""
        found: dict[str, dict[tuple[str, int, str], Run]] = {name: {} for name in self.names()}
        for name, instance, seed, member, solved, cost in self._ask(
            "SELECT name, instance, seed, if(models > 1, member, ''), solved, cost FROM chosen "
            "JOIN (SELECT name, count(DISTINCT member) AS models FROM chosen GROUP BY name) "
            "USING (name)"
        ):
            found[name][instance, seed, member] = Run(
                bool(solved), math.inf if cost is None else cost
            )
        return found

    def uneven(self) -> dict[str, int]:
        """Instances of each row, if rows or models differ in them; else empty."""
        own: dict[str, dict[str, set[tuple[str, int]]]] = {}
        for name, runs in self.runs().items():
            for instance, seed, member in runs:
                own.setdefault(name, {}).setdefault(member, set()).add((instance, seed))
        sets = [drawn for members in own.values() for drawn in members.values()]
        if all(drawn == sets[0] for drawn in sets):
            return {}
        return {
            name: min(len(drawn) for drawn in members.values()) for name, members in own.items()
        }

    def keep_common(self) -> None:
        """Drops instances that some row or model has not run."""
        self._ask(
            "DELETE FROM chosen WHERE (instance, seed) NOT IN (SELECT (instance, seed) FROM chosen "
            "GROUP BY instance, seed HAVING count(DISTINCT (name, member)) = "
            "(SELECT count(DISTINCT (name, member)) FROM chosen))"
        )

    def keep_solved_by(self, name: str) -> None:
        """Drops instances that the row has not solved (with any of its models)."""
        self._ask(
            "DELETE FROM chosen WHERE instance NOT IN "
            "(SELECT instance FROM chosen WHERE name = ? AND solved)",
            [name],
        )

    def instances(self) -> list[str]:
        """Hashes of the instances."""
        return [h for (h,) in self._ask("SELECT DISTINCT instance FROM chosen ORDER BY instance")]

    def success(self, points: Sequence[float | None]) -> dict[tuple[str, float | None], Share]:
        """Solved instances of every row at every point of its resource."""
        found = {}
        for point in points:
            rows = self._ask(
                "WITH sizes AS (SELECT name, count(DISTINCT member) AS models FROM chosen "
                "GROUP BY name), by_part AS (SELECT name, models, "
                "if(models > 1, member, seed::VARCHAR) AS part, count(*) AS total, count(*) FILTER "
                "(WHERE solved AND (?::DOUBLE IS NULL OR cost <= ?)) AS good, count(*) FILTER "
                "(WHERE NOT solved AND starts_with(outcome, 'OUT_OF_') AND cost < ?) AS given_up "
                "FROM chosen JOIN sizes USING (name) GROUP BY ALL) SELECT name, sum(good), "
                "sum(total), stddev_samp(good / total) / sqrt(count(*)), sum(given_up), "
                "any_value(models) FROM by_part GROUP BY name",
                [point, point, point],
            )
            for name, solved, total, error, given_up, models in rows:
                found[name, point] = Share(int(solved), int(total), error, int(given_up), models)
        return found

    def mean(self, metric: str, common: bool | None = None) -> dict[str, tuple[float, float, int]]:
        """Mean, standard error and number of runs by row, over solved instances.

        With `common` (default: the metric's own), only over instances that every row solved.
        """
        declared = METRICS.get(metric)
        where = "solved" if declared.common else "TRUE"
        if declared.common if common is None else common:
            where += (
                " AND instance IN (SELECT instance FROM chosen GROUP BY instance HAVING "
                "bool_and(solved) AND "
                "count(DISTINCT name) = (SELECT count(DISTINCT name) FROM chosen))"
            )
        rows = self._ask(
            f"SELECT name, {declared.aggregation}({metric}::DOUBLE), "
            f"stddev_samp({metric}::DOUBLE) / sqrt(count({metric})), count({metric}) FROM chosen "
            f"WHERE {where} GROUP BY name HAVING count({metric}) > 0"
        )
        return {name: (float(mean), float(error or 0.0), n) for name, mean, error, n in rows}

    def mean_cost(self) -> dict[str, tuple[float, float, int]]:
        """Mean cost of solved instances in each row's resource, standard error and number."""
        rows = self._ask(
            "SELECT name, avg(cost), stddev_samp(cost) / sqrt(count(*)), count(*) FROM chosen "
            "WHERE solved GROUP BY name HAVING count(cost) > 0"
        )
        return {name: (float(mean), float(error or 0.0), n) for name, mean, error, n in rows}

    def curve(self, name: str) -> tuple[list[float], list[int], int]:
        """Costs at which instances are solved, the number solved by then, and the total."""
        rows = self._ask(
            "SELECT cost, sum(count(*)) OVER (ORDER BY cost) FROM chosen "
            "WHERE name = ? AND solved GROUP BY cost ORDER BY cost",
            [name],
        )
        ((total,),) = self._ask("SELECT count(*) FROM chosen WHERE name = ?", [name])
        return [float(cost) for cost, _ in rows], [int(count) for _, count in rows], int(total)

    def ratio(self, name: str, reference: str) -> tuple[list[float], list[float]]:
        """Ratio of a row's unsolved instances to those of the reference, at every cost.

        Uses only instances that both ran; the curve ends where the reference has none left.
        """
        rows = self._ask(
            "WITH pairs AS (SELECT a.cost AS a_cost, a.solved AS a_solved, b.cost AS b_cost, "
            "b.solved AS b_solved FROM chosen a JOIN chosen b USING (instance, seed) "
            "WHERE a.name = ? AND b.name = ?), "
            "steps AS (SELECT DISTINCT x FROM (SELECT a_cost AS x FROM pairs WHERE a_solved "
            "UNION ALL SELECT b_cost FROM pairs WHERE b_solved)) "
            "SELECT x, count(*) FILTER (WHERE NOT (a_solved AND a_cost <= x)), "
            "count(*) FILTER (WHERE NOT (b_solved AND b_cost <= x)) "
            "FROM steps CROSS JOIN pairs GROUP BY x ORDER BY x",
            [name, reference],
        )
        left = [(float(x), ours / theirs) for x, ours, theirs in rows if theirs]
        return [x for x, _ in left], [y for _, y in left]

    def outcomes(self) -> list[tuple[str, str, int]]:
        """Row, outcome and number of runs."""
        return [
            (name, outcome, int(count))
            for name, outcome, count in self._ask(
                "SELECT name, outcome, count(*) FROM chosen GROUP BY ALL "
                "ORDER BY min(place), outcome"
            )
        ]

    def cut_by_time(self) -> dict[str, int]:
        """Number of untimed runs that ended by time or memory, by row."""
        rows = self._ask(
            "SELECT name, count(*) FROM chosen WHERE NOT timed AND outcome IN "
            "('OUT_OF_TIME', 'OUT_OF_MEMORY') GROUP BY name"
        )
        return {name: int(count) for name, count in rows}

    def profile(self, name: str) -> list[tuple[int, int, int]]:
        """For every bin of expansion numbers: its index, low-level expansions, all expansions."""
        bins = ", ".join(
            f"({place}, {lower}, {upper})"
            for place, (lower, upper) in enumerate(itertools.pairwise(PROFILE_EDGES))
        )
        rows = self._ask(
            "SELECT bins.place, sum(action_profile[bins.place + 1]), "
            "sum(least(expansions + 1, bins.upper) - bins.lower) FROM chosen JOIN "
            f"(VALUES {bins}) AS bins(place, lower, upper) ON bins.lower <= expansions "
            "WHERE name = ? GROUP BY bins.place ORDER BY bins.place",
            [name],
        )
        return [(int(place), int(low or 0), int(total)) for place, low, total in rows]

    def example(self, name: str) -> tuple[str, str, str, list[str]] | None:
        """Domain, parameters (JSON), level and plan of the first solved instance of a row."""
        rows = self._ask(
            "SELECT domain, parameters::VARCHAR, level, plan FROM chosen "
            "WHERE name = ? AND solved ORDER BY seed, index LIMIT 1",
            [name],
        )
        return None if not rows else (rows[0][0], rows[0][1], rows[0][2], list(rows[0][3]))
