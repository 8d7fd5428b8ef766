"""Charts of the HTML report."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from hips.benchmark import charts, report, report_html
from hips.benchmark.document import Curve, Figure

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("dots", [True, False])
def test_every_kind_of_figure_is_valid_xml(steps: bool, logarithmic: bool, dots: bool) -> None:
    curve = Curve("a < b", (1.0, 10.0, 500.0), (0.0, 50.0, 99.0), (0, 40, 90), (5, 60, 100), dots)
    figure = Figure("f", "t & t", "x", "y", (curve, curve), logarithmic, steps=steps, level=1.0)
    drawn = ElementTree.fromstring(charts.draw(figure))
    texts = [one.text for one in drawn.iter() if one.tag.endswith("text")]
    assert {"x", "y", "a < b"} <= set(texts)
    assert ("10" in texts) == logarithmic


def test_an_empty_figure_draws_nothing() -> None:
    assert charts.draw(Figure("f", "t", "x", "y", ())) == ""


def test_logarithmic_ticks_read_like_money() -> None:
    assert charts.ticks(3, 300, True) == [5, 10, 20, 50, 100, 200]
    assert charts.ticks(1, 1e6, True) == [10.0**power for power in range(7)]


@pytest.mark.slow
def test_the_committed_results_make_a_small_page() -> None:
    pytest.importorskip("duckdb")
    page = report_html.render(report.build(RESULTS))
    assert len(page.encode()) <= 1_500_000
