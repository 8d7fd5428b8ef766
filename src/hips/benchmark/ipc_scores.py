"""Scores of the International Planning Competition: coverage, agile and satisficing.

Coverage counts solved instances. The satisficing score of a plan of length C is C*/C, where C* is
the length of the shortest plan any row found for the instance. The agile score of a plan found
after T seconds is 1 up to one second, then 1 - log T / log 300, which is 0 at five minutes.
Unsolved instances score 0. Scores are sums over instances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hips.benchmark.queries import Results

AGILE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one row and its number of instances, an upper bound on every score."""

    coverage: int
    agile: float
    satisficing: float
    instances: int


def agile(seconds: float) -> float:
    """The agile score of one solved instance.

    >>> agile(0.5), round(agile(math.sqrt(300)), 6), agile(300)
    (1.0, 0.5, 0.0)
    """
    if seconds <= 1:
        return 1.0
    return max(0.0, 1 - math.log(seconds) / math.log(AGILE_SECONDS))


def scores(results: Results) -> dict[str, Scores]:
    """The scores of every selected row (see `Results.choose`)."""
    rows = results.ask(
        "WITH best AS (SELECT instance, min(length) AS shortest FROM chosen WHERE solved "
        "GROUP BY instance) "
        "SELECT name, count(*) FILTER (WHERE solved), "
        "coalesce(sum(CASE WHEN seconds <= 1 THEN 1 "
        f"ELSE greatest(0, 1 - ln(seconds) / ln({AGILE_SECONDS})) END) FILTER (WHERE solved), 0), "
        "coalesce(sum(CASE WHEN length = 0 THEN 1 ELSE shortest / length END) "
        "FILTER (WHERE solved), 0), count(*) "
        "FROM chosen LEFT JOIN best USING (instance) GROUP BY name ORDER BY min(place)"
    )
    return {
        name: Scores(int(coverage), float(fast), float(short), int(total))
        for name, coverage, fast, short, total in rows
    }
