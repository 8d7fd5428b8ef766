"""A report as one self-contained HTML file."""

from __future__ import annotations

import base64
import re
from html import escape
from typing import Any

from hips.benchmark.document import COLOURS, Curve, Document, Figure, Section, Table
from hips.errors import MissingExtraError

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem 2rem;
       color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem; }
nav a { margin-right: 1rem; white-space: nowrap; } a { color: #0b5394; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e5e5e5; text-align: right;
         white-space: nowrap; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #888; } tbody tr:hover { background: #f3f7fb; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(28rem, 1fr)); gap: 1rem; }
.figures > div { min-width: 0; overflow: hidden; }
figure { margin: 1rem 0; } figure img { max-width: 100%; }
figcaption, .note { color: #555; font-size: .9rem; } pre { background: #f5f5f5; padding: 1rem;
overflow-x: auto; } details { margin: .5rem 0; }
@media (max-width: 40rem) { body { padding: .5rem; } .figures { grid-template-columns: 1fr; } }
"""

# A chart takes the width available when it was drawn; the page may have changed since.
RESIZE = """
window.addEventListener("load", () =>
  document.querySelectorAll(".plotly-graph-div").forEach(chart => Plotly.Plots.resize(chart)));
"""


def render(document: Document) -> str:
    """The whole page."""
    try:
        import plotly.offline
    except ImportError:
        raise MissingExtraError("An HTML report", "bench") from None
    links = " ".join(f'<a href="#{s.name}">{escape(s.name)}</a>' for s in document.sections)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(document.title)}</title><style>{STYLE}</style>",
        f"<script>{plotly.offline.get_plotlyjs()}</script></head><body>",
        f"<h1>{escape(document.title)}</h1>",
        *(f"<p>{_text(text)}</p>" for text in document.about),
        f"<nav>{links}</nav>",
        *(_section(section) for section in document.sections),
        _appendix(document),
        f"<script>{RESIZE}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _text(text: str) -> str:
    """Text with `code` marked up."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _section(section: Section) -> str:
    """One experiment: the main tables, with details folded away."""
    main = tuple(table for table in section.tables if not table.detail)
    rest = [table for table in section.tables if table.detail]
    folded = "".join(_table(table) for table in rest)
    return "\n".join(
        [
            f'<section id="{escape(section.name)}"><h2>{escape(section.title)}</h2>',
            f"<p>{_text(section.about)}</p>",
            *(_table(table) for table in main),
            '<div class="figures">',
            *(_figure(figure) for figure in section.figures),
            "</div>",
            *(
                '<figure><img alt="" src="data:image/png;base64,'
                f'{base64.b64encode(picture.png).decode()}">'
                f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
                for picture in section.pictures
            ),
            f"<details><summary>Costs, scores and outcomes</summary>{folded}</details>"
            if rest
            else "",
            *(f'<p class="note">{escape(note)}</p>' for note in section.notes),
            "</section>",
        ]
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _figure(figure: Figure) -> str:
    import plotly.graph_objects

    made = plotly.graph_objects.Figure(data=_traces(figure), layout=_layout(figure))
    return str(
        made.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=f"figure-{figure.name}",
            default_height="24rem",
            config={"displaylogo": False, "responsive": True},
        )
    )


def _traces(figure: Figure) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    for curve in figure.curves:
        colour = COLOURS[curve.colour % len(COLOURS)]
        shape = "hv" if figure.steps else "linear"
        if curve.low and not curve.dots:
            traces.append(_band(curve, colour, figure.steps))
        trace = {
            "type": "scatter",
            "name": curve.name,
            "x": list(curve.x),
            "y": list(curve.y),
            "mode": "markers" if curve.dots else "lines",
            "line": {"color": colour, "shape": shape},
            "marker": {"color": colour, "size": 7},
            "legendgroup": curve.name,
        }
        if curve.low and curve.dots:
            up = [high - y for high, y in zip(curve.high, curve.y, strict=True)]
            down = [y - low for low, y in zip(curve.low, curve.y, strict=True)]
            trace["error_y"] = {"type": "data", "array": up, "arrayminus": down}
        traces.append(trace)
    return traces


def _band(curve: Curve, colour: str, steps: bool) -> dict[str, Any]:
    """The interval of a curve: forwards along its lower end, back along its upper end."""
    x, low = _stairs(curve.x, curve.low) if steps else (list(curve.x), list(curve.low))
    high = _stairs(curve.x, curve.high)[1] if steps else list(curve.high)
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return {
        "type": "scatter",
        "x": [*x, *reversed(x)],
        "y": [*low, *reversed(high)],
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},0.12)",
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": curve.name,
    }


def _stairs(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[list[float], list[float]]:
    """The corners of a step function."""
    corners = [(x[0], y[0])] if x else []
    for place in range(1, len(x)):
        corners += [(x[place], y[place - 1]), (x[place], y[place])]
    return [a for a, _ in corners], [b for _, b in corners]


def _layout(figure: Figure) -> dict[str, Any]:
    x_axis: dict[str, Any] = {"title": {"text": figure.x_label}}
    if figure.log_x:
        x_axis["type"] = "log"
    if figure.categories:
        places = list(range(len(figure.categories)))
        x_axis.update(tickvals=places, ticktext=list(figure.categories))
    layout: dict[str, Any] = {
        "title": {"text": figure.title, "font": {"size": 15}},
        "xaxis": x_axis,
        "yaxis": {"title": {"text": figure.y_label}, "rangemode": "tozero"},
        "template": "plotly_white",
        "margin": {"l": 60, "r": 20, "t": 60, "b": 50},
        "showlegend": len(figure.curves) > 1,
        "legend": {"orientation": "h", "y": -0.2},
    }
    shapes = []
    if figure.level is not None:
        ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": figure.level, "y1": figure.level}
        shapes.append({"type": "line", **ends, "line": {"color": "grey", "width": 1}})
    if figure.diagonal:
        top = max((value for curve in figure.curves for value in (*curve.x, *curve.y)), default=1)
        shapes.append(
            {"type": "line", "x0": 1, "y0": 1, "x1": top, "y1": top, "line": {"color": "grey"}}
        )
        layout["yaxis"] = {"title": {"text": figure.y_label}, "type": "log"}
    return {**layout, "shapes": shapes}


def _appendix(document: Document) -> str:
    commands = escape("\n".join(document.commands))
    rows = "".join(
        f"<tr><td>{escape(key)}</td><td>{escape(value)}</td></tr>"
        for key, value in document.environment
    )
    return (
        f"<h2>Commands</h2><pre>{commands}</pre>"
        f"<h2>Environment</h2><table><tbody>{rows}</tbody></table>"
    )
