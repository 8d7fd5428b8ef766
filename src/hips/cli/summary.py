"""What `hips solve` prints at the end: a plan, a line per level, or a table over many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

PERCENTILES = (50, 90)
MOST_LINES = 30
"""Longer files get lines only for unsolved levels."""


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "expansion"), count(2_000, "expansion")
    ('1 expansion', '2,000 expansions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def report(records: Sequence[Mapping[str, Any]], drawn: str | None = None) -> None:
    """Prints the results of a run.

    Args:
        records: one per level, as written to files.
        drawn: the level's text, if the command sampled a single level itself.
    """
    console = Console(highlight=False)
    if len(records) == 1:
        if drawn is not None:
            console.print(drawn, markup=False, soft_wrap=True)
        _print_one(console, records[0])
        return
    solved = [record for record in records if record["length"] is not None]
    shown = records if len(records) <= MOST_LINES else [r for r in records if r["length"] is None]
    for record in shown[:MOST_LINES]:
        console.print(line(record), soft_wrap=True, markup=False)
    if len(shown) > MOST_LINES:
        console.print(f"… and {len(shown) - MOST_LINES:,} more that are not solved")
    _print_table(console, records, solved)


def line(record: Mapping[str, Any]) -> str:
    """One level: number, outcome, length and costs."""
    found = [] if record["length"] is None else [count(record["length"], "step")]
    parts = [record["outcome"], *found, _spent(record), record["message"]]
    return f"level {record['index']}: {', '.join(part for part in parts if part)}"


def _spent(record: Mapping[str, Any]) -> str:
    return f"{count(record['expansions'], 'expansion')}, {record['seconds']:.2f} s"


def _print_one(console: Console, record: Mapping[str, Any]) -> None:
    if record["length"] is None:
        console.print(f"{record['outcome']} after {_spent(record)} {record['message']}".strip())
        return
    console.print(f"SOLVED in {count(record['length'], 'step')} ({_spent(record)})")
    console.print(" ".join(record["plan"]), soft_wrap=True)


def _print_table(
    console: Console, records: Sequence[Mapping[str, Any]], solved: Sequence[Mapping[str, Any]]
) -> None:
    table = Table("", title=f"{len(solved)} of {len(records)} solved")
    for heading in ("mean", *(f"{p} %" for p in PERCENTILES), "max"):
        table.add_column(heading, justify="right")
    for label, rows in (("expansions", records), ("seconds", records), ("length", solved)):
        values = sorted(float(row[label]) for row in rows)
        if values:
            middle = [values[min(len(values) - 1, len(values) * p // 100)] for p in PERCENTILES]
            numbers = [sum(values) / len(values), *middle, values[-1]]
            table.add_row(label, *(f"{number:.4g}" for number in numbers))
    console.print(table)
    others: dict[str, int] = {}
    for record in records:
        if record["length"] is None:
            others[record["outcome"]] = others.get(record["outcome"], 0) + 1
    for outcome, number in others.items():
        console.print(f"{outcome}: {number}")
