"""A plot of the training curves, drawn from the metric rows."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from hips.files import replacing

COLUMNS = 3


def draw_curves(rows: Path, picture: Path) -> None:
    """One panel per stage: validation metrics over steps, each scaled to its own range."""
    from matplotlib.figure import Figure

    curves: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    if rows.exists():
        for line in rows.read_text().splitlines():
            row = json.loads(line)
            split, stage, step = row.pop("split"), row.pop("stage"), row.pop("step")
            if split == "validation":
                for name, value in row.items():
                    curves[stage][name].append((step, value))
    if not curves:
        return
    height = -(-len(curves) // COLUMNS)
    figure = Figure(figsize=(5 * COLUMNS, 3.2 * height), layout="constrained")
    axes = figure.subplots(height, COLUMNS, squeeze=False)
    for panel in axes.flat[len(curves) :]:
        panel.axis("off")
    for panel, (stage, metrics) in zip(axes.flat, curves.items(), strict=False):
        panel.set_title(stage)
        panel.set_xlabel("step")
        for name, points in metrics.items():
            steps, values = zip(*points, strict=True)
            low, high = min(values), max(values)
            scaled = [(value - low) / (high - low or 1.0) for value in values]
            panel.plot(steps, scaled, label=f"{name} ({values[-1]:.3g})")
        panel.legend(fontsize=7)
    with replacing(picture) as temporary:
        figure.savefig(temporary, dpi=110)
