"""The documentation is executed: Python snippets run, commands and links exist."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer.main

from hips.cli import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
EXAMPLES = sorted(path for path in SOURCE.rglob("*.py") if ">>>" in path.read_text())
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
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


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "bash")], ids=lambda p: p.name)
def test_commands_exist_with_their_options(page: Path) -> None:
    lines = "\n".join(blocks(page, "bash")).splitlines()
    calls = [part.strip() for line in lines for part in line.split(" | ") if "hips " in part]
    for call in calls:
        program, *arguments = shlex.split(call, comments=True)
        if program != "hips":
            continue
        command = COMMANDS[arguments[0]]
        known = {name for parameter in command.params for name in parameter.opts}
        used = {argument for argument in arguments[1:] if argument.startswith("--")}
        assert used <= known, f"{page.name}: {call}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_verb_is_documented() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    missing = [verb for verb in COMMANDS if f"`hips {verb}" not in text]
    assert not missing
