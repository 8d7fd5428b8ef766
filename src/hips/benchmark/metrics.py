"""The metrics of a run, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hips.registry import Registry


class Better(Enum):
    """The direction in which a metric improves."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a run.

    Attributes:
        name: column of the table of runs.
        label: name in reports.
        unit: of the number; empty for counts.
        better: direction of improvement.
        expression: SQL over a run's fields.
        aggregation: SQL aggregate over runs.
        common: whether to compare methods only on instances that all of them solved.
    """

    name: str
    label: str
    unit: str
    better: Better
    expression: str
    aggregation: str = "avg"
    common: bool = True


METRICS: Registry[Metric] = Registry("metric")
RESOURCES: Registry[Metric] = Registry("resource")
"""Metrics usable as the x-axis of a success curve."""


def _declare(metric: Metric, *, resource: bool = False) -> None:
    METRICS.register(metric.name)(metric)
    if resource:
        RESOURCES.register(metric.name)(metric)


_ACTION_STEPS = "list_sum([s.steps for s in segments if s.kind = 'action'])"

_declare(Metric("solved", "solved", "%", Better.MORE, "outcome = 'SOLVED'", common=False))
_declare(Metric("expansions", "expansions", "", Better.LESS, "expansions"), resource=True)
_declare(Metric("seconds", "seconds", "s", Better.LESS, "seconds"), resource=True)
_declare(
    Metric("environment_steps", "environment steps", "", Better.LESS, "environment_steps"),
    resource=True,
)
_declare(
    Metric(
        "steps_with_model_calls",
        "environment steps and model calls (a batched step is one call, as published)",
        "",
        Better.LESS,
        "environment_steps + dynamics_calls",
    ),
    resource=True,
)
_declare(
    Metric(
        "steps_with_model_rows",
        "environment steps and model rows",
        "",
        Better.LESS,
        "environment_steps + dynamics_rows",
    ),
    resource=True,
)
_declare(Metric("generated", "generated nodes", "", Better.LESS, "generated"), resource=True)
_declare(Metric("network_rows", "network rows", "", Better.LESS, "network_rows"))
_declare(
    Metric(
        "nodes_and_calls",
        "generated nodes and calls of policy and verifier",
        "",
        Better.LESS,
        "generated + coalesce(reach_rows, 0)",
    ),
    resource=True,
)
_declare(
    Metric(
        "rows_per_expansion",
        "network rows per expansion",
        "",
        Better.LESS,
        "network_rows / nullif(expansions, 0)",
        common=False,
    )
)
_declare(
    Metric(
        "seconds_per_expansion",
        "seconds per expansion",
        "s",
        Better.LESS,
        "seconds / nullif(expansions, 0)",
        common=False,
    )
)
_declare(Metric("dynamics_calls", "model calls", "", Better.LESS, "dynamics_calls"))
_declare(Metric("dynamics_rows", "model rows", "", Better.LESS, "dynamics_rows"))
_declare(Metric("length", "plan length", "steps", Better.LESS, "length"))
_declare(Metric("num_segments", "segments", "", Better.NEITHER, "len(segments)"))
_declare(
    Metric(
        "plan_share",
        "low-level steps in plans",
        "%",
        Better.NEITHER,
        f"coalesce({_ACTION_STEPS}, 0) / nullif(length, 0)",
    )
)
_declare(
    Metric(
        "expansion_share",
        "low-level expansions",
        "%",
        Better.NEITHER,
        "action_expansions / nullif(expansions, 0)",
        common=False,
    )
)
_declare(Metric("replans", "rejected plans", "", Better.LESS, "replans", common=False))
_declare(Metric("peak_bytes", "memory", "bytes", Better.LESS, "peak_bytes", "max", common=False))
