"""Benchmark results for a model's card."""

from __future__ import annotations

from typing import Any

from hips.benchmark.queries import Results

POINTS = (5, 10, 20, 30, 50, 100, 200)
"""Expansion counts at which a card reports the share of solved instances."""


def search_scores(results: Results, model: str) -> list[dict[str, Any]]:
    """Results of the model with this fingerprint: one entry per suite, settings and limits."""
    within = ", ".join(f"avg((solved AND expansions <= {point})::INT)" for point in POINTS)
    rows = results.ask(
        "SELECT suite, source, configuration, timed, limit_expansions, limit_seconds, count(*), "
        "avg(solved::INT), avg(expansions) FILTER (WHERE solved), avg(length) FILTER "
        f"(WHERE solved), {within} FROM runs WHERE model = ? GROUP BY ALL "
        "ORDER BY suite, configuration, timed, limit_expansions, source",
        [model],
    )
    return [
        {
            "suite": suite,
            "source": source,
            "search": configuration,
            "limit": f"{seconds:g} seconds" if timed else f"{expansions} expansions",
            "instances": count,
            "solved": round(solved, 4),
            "mean_expansions": _rounded(mean),
            "mean_length": _rounded(length),
            "solved_within": {
                str(point): round(share, 4) for point, share in zip(POINTS, shares, strict=True)
            },
        }
        for (
            suite, source, configuration, timed, expansions, seconds, count, solved, mean, length,
            *shares,
        ) in rows
    ]  # fmt: skip


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
