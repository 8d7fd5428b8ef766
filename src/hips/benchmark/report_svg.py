"""Figures as SVG files, for static documents."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hips.benchmark.document import COLOURS, Document, Figure
from hips.errors import MissingExtraError
from hips.files import replacing

SIZE = (6.4, 4.0)


def write(document: Document, folder: Path) -> list[Path]:
    """Writes every figure of a report; returns the files."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("Drawing figures", "bench") from None
    matplotlib.use("Agg")
    # The same results give byte-identical files.
    matplotlib.rcParams["svg.hashsalt"] = "hips"
    found = []
    for section in document.sections:
        for figure in section.figures:
            found.append(folder / f"{figure.name}.svg")
            _draw(figure, found[-1])
    return found


def _draw(figure: Figure, path: Path) -> None:
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    canvas = Canvas(figsize=SIZE, layout="constrained")
    axes = canvas.subplots()
    for curve in figure.curves:
        style = "o" if curve.dots else "-"
        drawn = "steps-post" if figure.steps and not curve.dots else "default"
        colour = COLOURS[curve.colour % len(COLOURS)]
        axes.plot(curve.x, curve.y, style, drawstyle=drawn, label=curve.name, color=colour)
        if curve.low and curve.dots:
            axes.vlines(curve.x, curve.low, curve.high, color=colour)
        elif curve.low:
            step: Literal["post"] | None = "post" if figure.steps else None
            axes.fill_between(
                curve.x, curve.low, curve.high, step=step, alpha=0.15, color=colour, linewidth=0
            )
    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    if figure.categories:
        axes.set_xticks(range(len(figure.categories)), figure.categories)
    if figure.level is not None:
        axes.axhline(figure.level, color="grey", linewidth=0.8)
    if figure.diagonal:
        axes.set_yscale("log")
        axes.axline((1, 1), (10, 10), color="grey", linewidth=0.8)
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    if len(figure.curves) > 1:
        axes.legend(fontsize="small")
    with replacing(path) as temporary:
        canvas.savefig(temporary, format="svg", metadata={"Date": None})
