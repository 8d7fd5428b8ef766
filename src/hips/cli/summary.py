"""What `hips solve` prints at the end: a plan, a line per level, or a table over many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

PERCENTILES = (50, 90)
MOST_LINES = 30
"""Longer runs get lines only for unsolved levels."""
SHOWN_DIGITS = 3
"""Significant digits of a value in the table; so many values need a bounded number of bins."""


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "expansion"), count(2_000, "expansion")
    ('1 expansion', '2,000 expansions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Summary:
    """Counts over any number of records, in bounded memory."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._bins: dict[str, Counter[float]] = {}
        self._sums: dict[str, float] = {}
        self._first: list[Mapping[str, Any]] = []
        self._unsolved: list[Mapping[str, Any]] = []

    def __len__(self) -> int:
        return self.outcomes.total()

    def add(self, record: Mapping[str, Any]) -> None:
        """Counts a record."""
        self.outcomes[record["outcome"]] += 1
        if len(self) <= MOST_LINES:
            self._first.append(record)
        if record["length"] is None and len(self._unsolved) < MOST_LINES:
            self._unsolved.append(record)
        for name in ("expansions", "seconds", "length"):
            if record[name] is not None:
                value = float(record[name])
                bins = self._bins.setdefault(name, Counter())
                bins[float(f"{value:.{SHOWN_DIGITS}g}")] += 1
                self._sums[name] = self._sums.get(name, 0.0) + value

    def print(self, drawn: str | None = None) -> None:
        """Prints the plan of a single level, or a table over many.

        Args:
            drawn: the text of the level, if the command sampled a single one itself.
        """
        console = Console(highlight=False)
        if len(self) == 1:
            if drawn is not None:
                console.print(drawn, markup=False, soft_wrap=True)
            _print_one(console, self._first[0])
            return
        few = len(self) <= MOST_LINES
        for record in sorted(self._first if few else self._unsolved, key=lambda r: r["index"]):
            console.print(line(record), soft_wrap=True, markup=False)
        hidden = len(self) - self.outcomes["SOLVED"] - MOST_LINES
        if not few and hidden > 0:
            console.print(f"… and {hidden:,} more that are not solved")
        self._print_table(console)

    def _print_table(self, console: Console) -> None:
        table = Table("", title=f"{self.outcomes['SOLVED']} of {len(self)} solved")
        for heading in ("mean", *(f"{p} %" for p in PERCENTILES), "max"):
            table.add_column(heading, justify="right")
        for name, bins in self._bins.items():
            numbers = [
                self._sums[name] / bins.total(),
                *(_percentile(bins, share) for share in PERCENTILES),
                max(bins),
            ]
            table.add_row(name, *(f"{number:.4g}" for number in numbers))
        console.print(table)
        for outcome, number in self.outcomes.items():
            if outcome != "SOLVED":
                console.print(f"{outcome}: {number}")


def line(record: Mapping[str, Any]) -> str:
    """One level: number, title, outcome, length and costs."""
    found = [] if record["length"] is None else [count(record["length"], "step")]
    parts = [record["outcome"], *found, _spent(record), _improved(record), record["message"]]
    return f"level {_name(record)}: {', '.join(part for part in parts if part)}"


def _name(record: Mapping[str, Any]) -> str:
    """Number and title of a level; results of older versions have no title."""
    index, title = str(record["index"]), record.get("title", "")
    return f"{index} ({title})" if title and title != index else index


def _spent(record: Mapping[str, Any]) -> str:
    return f"{count(record['expansions'], 'expansion')}, {record['seconds']:.2f} s"


def _improved(record: Mapping[str, Any]) -> str:
    """From which plan to which, if it was improved."""
    history = record.get("history", ())
    if len(history) < 2:
        return ""
    first, last = history[0], history[-1]
    return (
        f"improved from {first['length']} steps at {first['seconds']:.2f} s "
        f"to {last['length']} at {last['seconds']:.2f} s"
    )


def _print_one(console: Console, record: Mapping[str, Any]) -> None:
    if record["length"] is None:
        console.print(f"{record['outcome']} after {_spent(record)} {record['message']}".strip())
        return
    console.print(f"SOLVED in {count(record['length'], 'step')} ({_spent(record)})")
    for found in record.get("history", ())[1:]:
        steps = count(found["length"], "step")
        console.print(f"  improved to {steps} {found['seconds']:.2f} s after the start")
    console.print(" ".join(record["plan"]), soft_wrap=True)


def _percentile(bins: Counter[float], share: int) -> float:
    place = min(bins.total() - 1, bins.total() * share // 100)
    for value in sorted(bins):
        place -= bins[value]
        if place < 0:
            return value
    return 0.0
