"""A plot of the training curves, drawn from the metric rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hips.files import replacing
from hips.training.progress import NAIVE

Curves: TypeAlias = dict[str, dict[str, list[tuple[int, float]]]]


def draw_curves(rows: Path, picture: Path) -> None:
    """One row per stage: shares on an axis from 0 to 1, other validation metrics from 0.

    A dashed line is a naive guess.
    """
    from matplotlib.figure import Figure

    curves, naive = _read(rows)
    if not curves:
        return
    figure = Figure(figsize=(10, 3.2 * len(curves)), layout="constrained")
    axes = figure.subplots(len(curves), 2, squeeze=False)
    for (left, right), (stage, metrics) in zip(axes, curves.items(), strict=True):
        shares = {name for name, points in metrics.items() if is_share(name, points)}
        _panel(left, f"{stage}: shares", {n: p for n, p in metrics.items() if n in shares})
        _panel(right, stage, {n: p for n, p in metrics.items() if n not in shares})
        left.set_ylim(0.0, 1.0)
        values = [value for n, p in metrics.items() if n not in shares for _, value in p]
        if values and min(values) >= 0:
            right.set_ylim(bottom=0.0)
        for name, value in naive.get(stage, {}).items():
            panel = left if name in shares else right
            panel.axhline(value, linestyle="--", linewidth=0.8, color="grey")
            panel.annotate(f"naive {name}", (0.01, value), xycoords=("axes fraction", "data"))
    with replacing(picture) as temporary:
        figure.savefig(temporary, dpi=110)


def is_share(name: str, points: list[tuple[int, float]]) -> bool:
    """Whether a metric is a share of samples: never a loss, and always from 0 to 1."""
    loss = name in ("score", "reconstruction", "codes", "actions") or name.endswith(("nll", "loss"))
    return not loss and all(0.0 <= value <= 1.0 for _, value in points)


def _panel(panel: Any, title: str, metrics: Mapping[str, list[tuple[int, float]]]) -> None:
    panel.set_title(title)
    panel.set_xlabel("step")
    for name, points in metrics.items():
        steps, values = zip(*points, strict=True)
        panel.plot(steps, values, marker=".", label=f"{name} ({values[-1]:.3g})")
    if metrics:
        panel.legend(fontsize=7)


def _read(rows: Path) -> tuple[Curves, dict[str, dict[str, float]]]:
    """Validation metrics by stage and name, and those of a naive guess."""
    curves: Curves = defaultdict(lambda: defaultdict(list))
    naive: dict[str, dict[str, float]] = {}
    for line in rows.read_text().splitlines() if rows.exists() else ():
        row = json.loads(line)
        split, stage, step = row.pop("split"), row.pop("stage"), row.pop("step")
        if split == "validation":
            for name, value in row.items():
                curves[stage][name].append((step, value))
        elif split == NAIVE:
            naive[stage] = row
    return curves, naive
