"""A report as data, independent of its format: sections of tables, figures and pictures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
"""Colours that are distinct for colour-blind readers."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text; the first column is left-aligned, the others are numbers.

    Attributes:
        title: heading.
        columns: headings of the columns.
        rows: one cell per column.
        detail: whether a short report omits it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of a figure, with an optional interval.

    Attributes:
        name: in the legend.
        x: ascending.
        y: same length as `x`.
        low: lower end of the interval, or empty.
        high: upper end, or empty.
        dots: whether to draw single points instead of a line.
        colour: index into `COLOURS`, the same in every figure of a section.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dots: bool = False
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """Curves over one pair of axes.

    Attributes:
        name: for its file and its anchor on a page.
        title: heading.
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        curves: in order of the legend.
        log_x: whether the horizontal axis is logarithmic.
        categories: names for x = 0, 1, … instead of numbers.
        level: a horizontal reference line, or None.
        steps: whether curves are step functions.
        diagonal: whether to draw the line x = y.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = True
    categories: tuple[str, ...] = ()
    level: float | None = None
    steps: bool = True
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG with a caption."""

    caption: str
    png: bytes


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment."""

    name: str
    title: str
    about: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report.

    Attributes:
        title: heading.
        about: paragraphs before the sections.
        sections: one per experiment.
        commands: command lines that made the results.
        environment: pairs of name and value.
    """

    title: str
    about: tuple[str, ...]
    sections: tuple[Section, ...]
    commands: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


def number(value: float) -> str:
    """A number with about four digits, without an exponent.

    >>> number(108.94), number(1234567.0), number(0.01234)
    ('108.9', '1,234,567', '0.0123')
    """
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.1f}"
    if size >= 1 or not size:
        return f"{value:.2f}"
    return f"{value:.4f}"


def percent(share: float) -> str:
    """A share in percent, without the sign.

    >>> percent(0.8431)
    '84.3'
    """
    return f"{100 * share:.1f}"


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """Items without duplicates, in order."""
    return tuple(dict.fromkeys(items))
