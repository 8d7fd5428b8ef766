"""A report as one self-contained HTML file."""

from __future__ import annotations

import base64
import re
from html import escape

from hips.benchmark import charts
from hips.benchmark.document import Document, Figure, Section, Table

STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1a1a1a; --quiet: #555; --line: #e2e2e2;
        --strong: #888; --link: #0b5394; --hover: #f1f6fb; --code: #f4f4f4; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171c; --ink: #e6e8eb; --quiet: #a5adb8; --line: #333a44; --strong: #77808c;
          --link: #7db8f5; --hover: #1f2630; --code: #1f242c; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 1rem 2rem;
       color: var(--ink); background: var(--back); }
p, li { max-width: 60rem; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
nav a { margin-right: 1rem; white-space: nowrap; } a { color: var(--link); }
/* A shadow at an edge says that a table goes on there. */
.scroll { overflow-x: auto; margin-bottom: 1.5rem; background:
    linear-gradient(90deg, var(--back) 30%, transparent) left / 2rem 100% local no-repeat,
    linear-gradient(-90deg, var(--back) 30%, transparent) right / 2rem 100% local no-repeat,
    linear-gradient(90deg, var(--strong), transparent) left / .35rem 100% scroll no-repeat,
    linear-gradient(-90deg, var(--strong), transparent) right / .35rem 100% scroll no-repeat; }
table { border-collapse: collapse; font-size: .94rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
         white-space: nowrap; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid var(--strong); } tbody tr:hover { background: var(--hover); }
.figures { display: grid; gap: 1rem;
           grid-template-columns: repeat(auto-fit, minmax(min(28rem, 100%), 1fr)); }
.figures > figure { min-width: 0; margin: 0; }
svg { width: 100%; font-size: 12px; fill: var(--quiet); }
svg .grid { stroke: var(--line); } svg .tick { stroke: var(--strong); }
figure { margin: 1rem 0; } figure img { max-width: 100%; }
figcaption, .note { color: var(--quiet); font-size: .9rem; }
pre { background: var(--code); padding: 1rem; overflow-x: auto; } details { margin: .5rem 0; }
@media (max-width: 40rem) {
  body { padding: .5rem .75rem; } .figures { grid-template-columns: 1fr; }
  th:first-child, td:first-child { white-space: normal; min-width: 8.5rem; } }
"""


def render(document: Document) -> str:
    """The whole page."""
    links = " ".join(f'<a href="#{s.name}">{escape(s.name)}</a>' for s in document.sections)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(document.title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(document.title)}</h1>",
        *(f"<p>{_text(text)}</p>" for text in document.about),
        f"<nav>{links}</nav>",
        *(_section(section) for section in document.sections),
        _appendix(document),
        "</body></html>",
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
            *(f'<p class="note">{_text(note)}</p>' for note in section.notes),
            "</section>",
        ]
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    title = escape(table.title)
    return (
        f'<h3>{title}</h3><div class="scroll" tabindex="0" role="region" aria-label="{title}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{escape(figure.title)}</figcaption>"
    return f"<figure>{caption}{charts.draw(figure)}</figure>"


def _appendix(document: Document) -> str:
    commands = escape("\n".join(document.commands))
    rows = "".join(
        f"<tr><td>{escape(key)}</td><td>{escape(value)}</td></tr>"
        for key, value in document.environment
    )
    return (
        f"<h2>Commands</h2><pre>{commands}</pre>"
        f'<h2>Environment</h2><div class="scroll"><table><tbody>{rows}</tbody></table></div>'
    )
