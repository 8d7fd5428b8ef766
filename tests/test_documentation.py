"""The documentation is executed: Python snippets run, commands and links exist."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from hips.cli import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
EXAMPLES = sorted(path for path in SOURCE.rglob("*.py") if ">>>" in path.read_text())
DOCS = ROOT / "docs"
MADE = ("_build", "generated")
"""Folders of `docs` that `make docs` writes."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(p for p in sorted(DOCS.rglob("*.md")) if p.relative_to(DOCS).parts[0] not in MADE),
]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def name_page(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=name_page)
def test_python_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Dataclasses look their module up by name while they are made.
    monkeypatch.setitem(sys.modules, "snippet", type(sys)("snippet"))
    names = {"__name__": "snippet"}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_examples_in_docstrings_hold(path: Path) -> None:
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "bash")], ids=name_page)
def test_commands_exist_with_their_options(page: Path) -> None:
    lines = "\n".join(blocks(page, "bash")).splitlines()
    calls = [part.strip() for line in lines for part in line.split(" | ") if "hips " in part]
    for call in calls:
        program, *arguments = shlex.split(call, comments=True)
        if program != "hips":
            continue
        command = COMMANDS[arguments[0]]
        known = {
            name
            for parameter in command.params
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {argument for argument in arguments[1:] if argument.startswith("--")}
        assert used <= known, f"{page.name}: {call}"


GUIDES = [page for page in PAGES if page.parent.name in {"tutorials", "how-to"}]
ELSEWHERE = ("web", "train", "bench", "collect")
"""Verbs whose own tests run them: a server, and work of minutes."""
LEVEL = "#######\n#.$@  #\n#     #\n#######\n"


@pytest.mark.parametrize("page", [p for p in GUIDES if blocks(p, "bash")], ids=name_page)
def test_commands_of_guides_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_levels.txt").write_text(LEVEL)
    for line in filter(None, "\n".join(blocks(page, "bash")).splitlines()):
        program, *arguments = shlex.split(line, comments=True)
        needs = {"--device", "lama", "check"} & set(arguments)  # extras, and a trained model
        if program != "hips" or arguments[0] in ELSEWHERE or needs:
            continue
        ended = CliRunner().invoke(app, [a.replace("200", "4") for a in arguments])
        assert ended.exit_code in {0, 1}, f"{line}: {ended.output}"
        assert ended.exception is None or isinstance(ended.exception, SystemExit), line


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        if (page.parent / target).parent == DOCS / "generated":
            continue
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_verb_is_documented() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    missing = [verb for verb in COMMANDS if f"`hips {verb}" not in text]
    assert not missing


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    for needed in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(needed, reason="the extra `docs` is not installed")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "explanation" / "algorithm.html").read_text()
    assert "<math" in page
    assert not re.search(r'(src|href)="https?://[^"]*\.(js|css)', page)
    assert "hips solve" in (tmp_path / "generated" / "commands.html").read_text()


def test_every_page_is_in_the_site() -> None:
    listed = (DOCS / "index.md").read_text()
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES[2:]}
    assert {page for page in pages if page not in listed} <= {"index"}


def test_readme_begins_on_one_screen() -> None:
    first = (ROOT / "README.md").read_text().split("## Install")[0]
    assert len(first.splitlines()) <= 60
    assert "arxiv.org/abs/2310.12819" in first
    assert "@inproceedings" in first
