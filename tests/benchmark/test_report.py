from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hips.benchmark import report, report_html, report_markdown, report_svg
from hips.errors import HipsError
from tests.benchmark.stored import PHS, invocation_line, run_line, stored_lines, write

GOLDEN = Path(__file__).parent / "data" / "report.md"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def test_the_report_is_the_golden_one(tmp_path: Path) -> None:
    """Set HIPS_WRITE_GOLDEN to write it anew, and look at the difference."""
    document = report.build(write(tmp_path, stored_lines()))
    text = report_markdown.render(document, figures="figures")
    text = re.sub(r"^- hips: .*$", "- hips: VERSION", text, flags=re.MULTILINE)
    if os.environ.get("HIPS_WRITE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_only_experiments_that_were_run(tmp_path: Path) -> None:
    folder = write(tmp_path, stored_lines())
    with pytest.raises(HipsError, match=r"no results of experiment 'clock'. Available: three"):
        report.build(folder, ("clock",))


def test_a_later_call_for_another_suite_hides_nothing(tmp_path: Path) -> None:
    before = report.build(write(tmp_path / "a", stored_lines()))
    other = invocation_line(
        sources={"elsewhere": "seed"},
        configurations={"elsewhere": {"hips": "hips"}},
        command="hips bench three --suite elsewhere",
    )
    after = report.build(write(tmp_path / "b", [*stored_lines(), other]))
    assert after.sections == before.sections


def test_rows_are_what_they_stood_for_when_they_were_last_run(tmp_path: Path) -> None:
    """A model's settings may change later: nothing but the file decides what is in a report."""
    tuned = f"{PHS} heuristic_weight=2"
    rows = {"line": {"phs_star": tuned}}
    later = [invocation_line(configurations=rows, seeds=[0]), run_line(0, tuned, 3)]
    folder = write(tmp_path, [*stored_lines(), *later])
    (section,) = report.build(folder).sections
    found = {row[0]: row[-1] for row in section.tables[0].rows}
    assert found == {"PHS* (low-level)": "1", "HIPS (high-level)": "8", "HIPS-ε": "8"}


def test_rows_that_were_added_are_shown_behind_those_of_the_catalogue(tmp_path: Path) -> None:
    added = {"name": "mine", "label": "Mine", "method": "mine"}
    rows = {"line": {"mine": "mine"}}
    later = [invocation_line(configurations=rows, added=[added]), run_line(0, "mine", 3)]
    (section,) = report.build(write(tmp_path, [*stored_lines(), *later])).sections
    labels = [row[0] for row in section.tables[0].rows]
    assert labels == ["PHS* (low-level)", "HIPS (high-level)", "HIPS-ε", "Mine"]
    assert section.tables[0].rows[-1][-1] == "1"


def test_figures_are_files_that_repeat(tmp_path: Path) -> None:
    document = report.build(write(tmp_path, stored_lines()))
    names = [path.name for path in report_svg.write(document, tmp_path / "a")]
    report_svg.write(document, tmp_path / "b")
    assert names == ["three-line.svg", "three-line-ratio.svg"]
    for name in names:
        text = (tmp_path / "a" / name).read_text()
        assert "<svg" in text
        assert text == (tmp_path / "b" / name).read_text()


def test_the_page_needs_no_network(tmp_path: Path) -> None:
    page = report_html.render(report.build(write(tmp_path, stored_lines())))
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?(https?:)?//", page)
    assert page.count("<svg") == 2
    assert "<script" not in page
    assert "data:image/png;base64," in page


PROBE = """
<script>
window.problems = [];
window.addEventListener("error", event => window.problems.push(event.message));
const complain = console.error;
console.error = (...words) => { window.problems.push(words.join(" ")); complain(...words); };
window.addEventListener("load", () => setTimeout(() => {
  const charts = [...document.querySelectorAll("svg")];
  const drawn = charts.filter(chart => chart.querySelectorAll("path title").length);
  document.body.dataset.charts = charts.length;
  document.body.dataset.drawn = drawn.length;
  document.body.dataset.problems = JSON.stringify(window.problems);
}, 500));
</script>
"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    page = report_html.render(report.build(write(tmp_path, stored_lines())))
    (tmp_path / "report.html").write_text(page.replace("<title>", PROBE + "<title>", 1))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--virtual-time-budget=10000", "--window-size=1280,2400"]
    address = (tmp_path / "report.html").as_uri()
    dumped = subprocess.run(
        [*command, "--dump-dom", address], capture_output=True, text=True, timeout=120, check=True
    )
    assert 'data-problems="[]"' in dumped.stdout
    assert 'data-charts="2"' in dumped.stdout
    assert 'data-drawn="2"' in dumped.stdout
    assert "CONSOLE" not in dumped.stderr
    picture = tmp_path / "report.png"
    subprocess.run([*command, f"--screenshot={picture}", address], timeout=120, check=True)
    assert picture.stat().st_size > 20_000
