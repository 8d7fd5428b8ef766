"""A report as Markdown, for terminals and documents."""

from __future__ import annotations

from hips.benchmark.document import Document, Section, Table


def render(document: Document, *, figures: str | None = None) -> str:
    """The whole report.

    Args:
        document: the report.
        figures: folder of SVG files, relative to the Markdown file; None omits figures.
    """
    blocks = [f"# {document.title}", *document.about]
    for section in document.sections:
        blocks += render_section(section, figures=figures)
    if document.commands:
        blocks += ["## Commands", "```\n" + "\n".join(document.commands) + "\n```"]
    if document.environment:
        listed = [f"- {key}: {value}" for key, value in document.environment if value]
        blocks += ["## Environment", "\n".join(listed)]
    return "\n\n".join(blocks) + "\n"


def render_section(
    section: Section, *, figures: str | None = None, detail: bool = True
) -> list[str]:
    """The blocks of one section; without `detail`, only the main tables."""
    blocks = [f"## {section.title}", *([section.about] if section.about else [])]
    for table in section.tables if detail else (t for t in section.tables if not t.detail):
        blocks += [f"**{table.title}**", render_table(table)]
    if figures is not None:
        blocks += [f"![{f.title}]({figures}/{f.name}.svg)" for f in section.figures]
    if section.notes:
        blocks.append("\n".join(f"- {note}" for note in section.notes))
    return blocks


def render_table(table: Table) -> str:
    """One table, padded to be readable as text.

    >>> print(render_table(Table("", ("method", "n"), (("HIPS", "50"),))))
    | method |  n |
    |:-------|---:|
    | HIPS   | 50 |
    """
    grid = [tuple(cell.replace("|", "\\|") for cell in row) for row in (table.columns, *table.rows)]
    widths = [max(len(row[place]) for row in grid) for place in range(len(table.columns))]
    rule = ["-" * (widths[0] + 1), *("-" * (width + 1) for width in widths[1:])]
    lines = [_line(grid[0], widths), f"|:{'|'.join([rule[0], *(f'{r}:' for r in rule[1:])])}|"]
    return "\n".join(lines + [_line(row, widths) for row in grid[1:]])


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return f"| {' | '.join(padded)} |"
