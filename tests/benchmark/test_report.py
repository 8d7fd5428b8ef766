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
        report.build(folder, (("clock", "full", False),))


def test_a_later_call_for_another_suite_hides_nothing(tmp_path: Path) -> None:
    before = report.build(write(tmp_path / "a", stored_lines()))
    other = invocation_line(
        sources={"elsewhere": "development"},
        configurations={"elsewhere": {"hips": ["hips"]}},
        command="hips bench three --suite elsewhere",
    )
    after = report.build(write(tmp_path / "b", [*stored_lines(), other]))
    assert after.sections == before.sections


def test_rows_are_what_they_stood_for_when_they_were_last_run(tmp_path: Path) -> None:
    """A model's settings may change later: nothing but the file decides what is in a report."""
    tuned = f"{PHS} heuristic_weight=2"
    rows = {"line": {"phs_star": [tuned]}}
    runs = [run_line(index, tuned, 3) for index in range(8)]
    later = [invocation_line(configurations=rows, seeds=[0]), *runs]
    folder = write(tmp_path, [*stored_lines(), *later])
    (section,) = report.build(folder).sections
    found = {row[0]: row[2] for row in section.tables[0].rows}
    assert found["PHS* (low-level), weight 1"].startswith("100.0")


def test_rows_that_were_added_are_shown_behind_those_of_the_catalogue(tmp_path: Path) -> None:
    added = {"name": "mine", "label": "Mine", "method": "mine"}
    rows = {"line": {"mine": ["mine"]}}
    runs = [run_line(index, "mine", 3) for index in range(8)]
    later = [invocation_line(configurations=rows, added=[added]), *runs]
    (section,) = report.build(write(tmp_path, [*stored_lines(), *later])).sections
    labels = [row[0] for row in section.tables[0].rows]
    assert labels == ["PHS* (low-level), weight 1", "HIPS (high-level)", "HIPS-ε", "Mine"]
    assert section.tables[0].rows[-1][-1] == "8"


def test_a_table_of_rows_on_different_instances_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, stored_lines()[:-1])
    (section,) = report.build(folder).sections
    assert not section.tables
    (note,) = [note for note in section.notes if note.startswith("No table.")]
    assert "PHS* (low-level), weight 1 7" in note
    assert "HIPS-ε 8" in note
    (section,) = report.build(folder, common=True).sections
    assert {row[-1] for row in section.tables[0].rows} == {"7"}
    assert any("the table has the 7 that all have run" in note for note in section.notes)


def test_rows_on_equally_many_other_instances_are_refused_too(tmp_path: Path) -> None:
    *others, last = stored_lines()
    folder = write(tmp_path, [*others, {**last, "instance": "f" * 64}])
    assert not report.build(folder).sections[0].tables


def test_rows_are_paired_with_the_reference(tmp_path: Path) -> None:
    (section,) = report.build(write(tmp_path, stored_lines())).sections
    paired = next(table for table in section.tables if "paired with" in table.title)
    assert paired.title.endswith("HIPS (high-level)")
    cells = {row[0]: row[1:] for row in paired.rows}
    assert cells["HIPS-ε"][:3] == ("1/0, 1", "0/0, 1", "2/0, 0.5")
    assert cells["PHS* (low-level), weight 1"][2] == "0/1, 1"


def test_sealed_instances_are_marked_and_reported_apart(tmp_path: Path) -> None:
    sealed = dict.fromkeys(("line", "long"), "sealed")
    marked = [{**line, "source": "sealed"} for line in stored_lines()[1:]]
    content = [*stored_lines(), invocation_line(sealed=True, sources=sealed), *marked]
    development, final = report.build(write(tmp_path, content)).sections
    assert "development instances" in development.title
    assert "sealed instances" in final.title
    assert final.name == "three-sealed"
    assert any("8 sealed instances" in note for note in final.notes)


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
