"""The documentation is executed: Python snippets run, commands and links exist."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer.main
from typer.testing import CliRunner

import hips
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


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page registers is forgotten after it."""
    for registry in (hips.domains._REGISTRY, hips.methods._REGISTRY):
        registry.load()
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.setattr(hips.plugins, "_LOADED", dict(hips.plugins._LOADED))


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


def lines(page: Path) -> list[str]:
    """The lines of the shell blocks of a page; those that end in a backslash go on."""
    joined = (block.replace("\\\n", " ") for block in blocks(page, "bash"))
    return [line for block in joined for line in block.splitlines()]


def calls(page: Path) -> list[list[str]]:
    """Arguments of every `hips` command in the blocks of a page."""
    return arguments(lines(page))


def launched(page: Path) -> list[list[str]]:
    """Arguments of commands that another program starts, such as torchrun."""
    return arguments([line[line.index("hips ") :] for line in lines(page) if "-m hips " in line])


def mentions(page: Path) -> list[list[str]]:
    """Arguments of commands in running text; they may have placeholders."""
    return arguments(re.findall(r"`(hips [a-z][^`]* --[^`]*)`", page.read_text()))


def arguments(lines: list[str]) -> list[list[str]]:
    parts = [part.strip() for line in lines for part in line.split(" | ")]
    found = [shlex.split(part, comments=True) for part in parts if "hips " in part]
    named = [words[1:] if words and "=" in words[0] else words for words in found]
    return [words[1:] for words in named if words[:1] == ["hips"]]


def options(command: click.Command) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)}


@pytest.mark.parametrize("page", [p for p in PAGES if calls(p) or launched(p)], ids=name_page)
def test_commands_can_be_parsed(page: Path) -> None:
    """Also those that would run for hours: their options take these values."""
    for verb, *rest in [*calls(page), *launched(page)]:
        if "…" not in rest:
            COMMANDS[verb].make_context(verb, rest)


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_benchmarks_exist(page: Path) -> None:
    named = re.findall(r"python -m benchmarks\s+(\w+)", page.read_text())
    assert all((ROOT / "benchmarks" / f"{name}.py").is_file() for name in named), named


@pytest.mark.parametrize("page", [p for p in PAGES if calls(p) or mentions(p)], ids=name_page)
def test_commands_exist_with_their_options(page: Path) -> None:
    for verb, *rest in [*calls(page), *mentions(page)]:
        command = COMMANDS[verb]
        inner = getattr(command, "commands", {})
        part = rest[0] if rest and rest[0] in inner else "run"  # `bench NAME` is `bench run NAME`
        known = options(inner.get(part, command)) | options(command) | {"--help"}
        used = {one.split("=")[0] for one in rest if one.startswith("--")}
        assert used <= known, f"{page.name}: {verb} {rest}"
        recipes = [one for one in rest if one.startswith("reproductions/")]
        assert all((ROOT / one).is_file() for one in recipes), rest


MINUTES = {"CONTRIBUTING.md", "benchmark.md", "experiments.md", "report.md", "results.md"}
"""Pages whose commands take minutes to hours; their options are checked above."""
GUIDES = [page for page in PAGES if page.name not in MINUTES]
LEVEL = "#######\n#.$@  #\n#     #\n#######\n"
TINY = {"--count": "4", "--max-seconds": "5", "--size": "quick"}
TINY_BENCH = ["--problems", "1", "--max-expansions", "3", "--suite", "sliding_tiles"]


def shrunk(call: list[str]) -> list[str]:
    """A command of minutes at the size of a test."""
    if call[0] == "train":  # a limit of minutes means fewer steps on a busy machine
        return shlex.split(re.sub(r"--limit-minutes \d+", "--size smoke", shlex.join(call)))
    before = ["", *call]
    small = [TINY.get(last, one) for last, one in zip(before, call, strict=False)]
    small = [str(ROOT / one) if one.startswith("examples/") else one for one in small]
    if call[0] == "bench":
        return [*small, *TINY_BENCH]
    sampled = call[0] == "collect" and "--levels" not in call
    return [*small, "--count", "4"] if sampled else small


def runnable(call: list[str], trained: bool) -> bool:
    """Whether a test can run a command: no server, no GPU, no model but one made here."""
    if call[0] in {"web", "demo"} or "…" in call:  # these have tests of their own
        return False
    if {"--device", "--engine", "--recipe", "--rules", "check", "record"} & set(call):
        return False
    if "lama" in call and importlib.util.find_spec("up_fast_downward") is None:
        return False
    if "minari" in call[0] and importlib.util.find_spec("minari") is None:
        return False
    return trained or not ("train" in call or any(one.endswith("/model") for one in call))


def run_guide(page: Path, folder: Path, trained: bool) -> int:
    (folder / "my_levels.txt").write_text(LEVEL)
    for name in re.findall(r"[Ss]ave (?:this|it) as\s+`(\w+\.py)`", page.read_text()):
        (folder / name).write_text(blocks(page, "python")[0])
    ran = [shrunk(one) for one in calls(page) if runnable(one, trained)]
    said = ""
    for call in ran:
        ended = CliRunner().invoke(app, call, input=said)  # for pipes
        said = ended.stdout
        assert ended.exit_code in {0, 1}, f"{call}: {ended.output}"
        assert ended.exception is None or isinstance(ended.exception, SystemExit), call
    return len(ran)


@pytest.mark.parametrize("page", [p for p in GUIDES if calls(p)], ids=name_page)
def test_commands_of_guides_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    run_guide(page, tmp_path, trained=False)


@pytest.mark.slow
def test_the_tutorial_on_domains_trains_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_guide(DOCS / "tutorials" / "own-domain.md", tmp_path, trained=True) == 3
    assert (tmp_path / "runs" / "lamps" / "model" / "card.json").is_file()


def test_every_public_name_has_an_example() -> None:
    examples = "\n".join(blocks(DOCS / "reference" / "python.md", "python"))
    names = {
        name
        for module in (hips, hips.data, hips.domains, hips.methods)
        for name in module.__all__
        if not re.search(rf"\b{name}\b", examples)
    }
    assert names == {"export_minari", "import_minari"}  # an extra; described in words


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
