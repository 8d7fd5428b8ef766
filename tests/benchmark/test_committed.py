"""The committed results are those of the catalogue: nothing is missing, nothing left over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hips.benchmark import experiments, lines, report
from hips.benchmark.runner import History
from hips.benchmark.tasks import Cell, Limits, cells_of
from hips.planner.settings import spell

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAPER = experiments.load()
STANDARD = PAPER.sizes.get("standard")
EXPERIMENTS = [
    PAPER.find(name, rules)
    for name in PAPER.experiments
    for rules in PAPER.experiments.get(name).allowed
    if rules != "paper"
]
CELLS = cells_of(EXPERIMENTS, STANDARD)
UNTIMED = {"phs_star_weighted", "phs_star_tuned"}
"""Rows whose times are still to be measured, on a quiet machine."""


@pytest.fixture(scope="module")
def content() -> list[dict[str, Any]]:
    return list(lines.read(lines.find(RESULTS)))


def stands_for(line: dict[str, Any], cell: Cell) -> bool:
    """Whether a run is one of the cell; without its model, as far as the catalogue tells."""
    limits = Limits(line["timed"], line["limit_expansions"], line["limit_seconds"])
    if (line["suite"], line["source"], limits) != (cell.suite.name, cell.suite.source, cell.limits):
        return False
    variant, domain = cell.variant, cell.suite.make_domain()
    if variant.model_suffix is None:
        return bool(line["configuration"] == variant.configuration(domain))
    expected = {f"model={variant.model_suffix}", *spell(variant.settings).split()}
    return line["method"] == variant.method and expected <= set(line["configuration"].split())


def test_every_cell_has_been_run() -> None:
    history = History.read(lines.find(RESULTS))
    absent = []
    for cell in CELLS:
        domain = cell.suite.make_domain()
        if not cell.variant.missing(domain) and cell.key(domain, 0, 0) not in history.done:
            absent.append((cell.variant.name, cell.limits.timed))
        history.check_model(cell, domain)
    assert {name for name, timed in absent if timed} <= UNTIMED
    assert [name for name, timed in absent if not timed] == []


def test_every_run_belongs_to_a_cell(content: list[dict[str, Any]]) -> None:
    kinds = {
        (
            *(line["suite"], line["source"], line["configuration"], line["timed"]),
            *(line["limit_expansions"], line["limit_seconds"]),
        ): line
        for line in content
        if line["type"] == "run"
    }
    assert len(kinds) > 90
    strays = [kind for kind, line in kinds.items() if not any(stands_for(line, c) for c in CELLS)]
    assert strays == []


def test_every_run_is_on_the_instance_that_its_suite_draws(content: list[dict[str, Any]]) -> None:
    drawn = {
        (suite, index): PAPER.suites.get(suite).instances(index + 1, 0)[index].sha256
        for suite in PAPER.suites
        for index in (0, 1)
    }
    runs = [line for line in content if line["type"] == "run" and line["index"] < 2]
    assert {(line["suite"], line["index"]) for line in runs} == set(drawn)
    for line in runs:
        assert line["instance"] == drawn[line["suite"], line["index"]]


def test_a_report_can_be_made_of_them() -> None:
    document = report.build(RESULTS, (("table1", "full", False),), common=True)
    (section,) = document.sections
    published = [table for table in section.tables if not table.detail]
    assert [len(table.rows) for table in published] == [6, 5] * 4
