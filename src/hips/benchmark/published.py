"""The paper's tables, as data with their source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hips.benchmark.experiments import DATA, Point
from hips.files import read_json


@dataclass(frozen=True, slots=True)
class Published:
    """A published number: mean and standard error (None if not given)."""

    mean: float
    error: float | None

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if self.error is None else f" ± {self.error:.1f}")


@lru_cache(maxsize=1)
def _content() -> dict[str, Any]:
    return dict(read_json(DATA / "published.json"))


def source() -> str:
    """The source of the numbers, in one line."""
    paper = _content()["source"]
    return f"{paper['authors']}: {paper['title']}. {paper['venue']}. {paper['address']}"


def label(experiment: str) -> str:
    """The paper's label of the table; empty if it has none."""
    return str(_content()["tables"].get(experiment, {}).get("label", ""))


def value(experiment: str, suite: str, row: str, point: Point) -> Published | None:
    """One published number, or None if the paper has none."""
    table = _content()["tables"].get(experiment, {}).get("suites", {}).get(suite)
    if table is None or row not in table["rows"] or point not in table["points"]:
        return None
    found = table["rows"][row][table["points"].index(point)]
    return None if found is None else Published(*found)
