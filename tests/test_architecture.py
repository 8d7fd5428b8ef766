"""Imports point one way, torch stays where it belongs, and names stay in their own folders.

`docs/architecture.md` says which folder may import which.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hips import parts

PACKAGE = Path(__file__).parents[1] / "src" / "hips"
ORDER = (
    "domains",
    "engines",
    "data",
    "planner",
    "models",
    "training",
    "parts",
    "methods",
    "practice",
    "benchmark",
    "web",
    "cli",
)
FOUNDATIONS = (
    "errors",
    "registry",
    "seeding",
    "files",
    "interrupts",
    "json_lines",
    "statistics",
    "archives",
    "arrays",
    "assignments",
    "machine",
    "plugins",
    "_version",
)
ENTRANCES = ("__init__", "__main__")
TORCH_MODULES = ("network", "train", "chunking", "alternation", "distillation", "graphs")
"""Modules of a part, beside the blocks, that may use torch."""
TRAINING_PACKAGES = ("torch", "vector_quantize_pytorch", "tensorboard", "safetensors")
MAX_LINES = 400
MAX_PARAMETERS = 10
DOMAINS = {p.name for p in (PACKAGE / "domains").iterdir() if (p / "__init__.py").is_file()}
PARTS = set(parts.names())
TERMS = {"heuristic", "dynamics", "reach_policy", "prior", "subgoals"}
"""Parts that are called like a protocol, a phase or an array of the planner."""
INPUTS = {"subgoals"}
"""Parts that are called like an input of networks."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def identify(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def imports(path: Path) -> Iterator[str]:
    """Absolute names of all modules a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def literals(path: Path) -> set[str]:
    """All strings of a file that are not docstrings."""
    tree = ast.parse(path.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documents
    }


def part_of(module: str) -> str | None:
    """The folder or top-level module of the package that a dotted name belongs to."""
    names = module.split(".")
    if names[0] != "hips" or len(names) < 2:
        return None
    return names[1]


def allowed(part: str) -> set[str]:
    """What a folder or top-level module may import from the package, by `docs/architecture.md`."""
    if part in FOUNDATIONS:
        return set(FOUNDATIONS)
    if part in ENTRANCES:
        return {*FOUNDATIONS, *ORDER}
    if part not in ORDER:
        return {*FOUNDATIONS, part, "domains"}
    pictures = {"pictures"} if part != "domains" else set()
    return {*FOUNDATIONS, *ORDER[: ORDER.index(part) + 1], *pictures}


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_imports_point_one_way(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    known = {entry.stem for entry in PACKAGE.iterdir()}
    imported = {part_of(module) for module in imports(path)} & known
    assert imported <= allowed(part)


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_strings_name_nothing_to_the_right(path: Path) -> None:
    """A module named in a string and imported later is an arrow too."""
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part in ENTRANCES:
        return
    named = {part_of(text) for text in literals(path) if text.startswith("hips.")} & set(ORDER)
    groups = {part}  # the name of a folder's own entry point group
    assert named <= allowed(part) | groups


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_torch_is_imported_only_for_training(path: Path) -> None:
    place = path.relative_to(PACKAGE).parts
    of_part = place[0] == "parts" and (place[1] == "blocks" or path.stem in TORCH_MODULES)
    if place[0] == "training" or of_part:
        return
    tree = ast.parse(path.read_text())
    # What only type checkers read is not imported.
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert not found & set(TRAINING_PACKAGES)


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_domains_are_named_only_in_their_own_folder(path: Path) -> None:
    """Code compares with no domain's name; docstrings may use one as an example."""
    own = path.relative_to(PACKAGE).parts[1] if path.is_relative_to(PACKAGE / "domains") else ""
    assert not literals(path) & (DOMAINS - {own})


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_parts_are_named_only_where_they_are_wired(path: Path) -> None:
    """A part is named in its own folder, by parts that declare it, and by methods."""
    place = path.relative_to(PACKAGE).parts
    if place[0] == "methods":
        return
    permitted: set[str] = set()
    if place[0] == "parts" and place[1] in PARTS:
        own = parts.get(place[1])
        permitted = {own.name, *own.upstream, *own.companions}
    words = {text for text in literals(path) if " " not in text}
    imported = {
        module.split(".")[2] for module in imports(path) if module.startswith("hips.parts.")
    } & PARTS
    # The order of stages may name any stage: those of absent parts are ignored.
    dotted = {word.split(".")[0] for word in words if "." in word} & PARTS
    stages = set() if path.stem == "train" else dotted
    # Some parts are named after words of the planner's own language.
    terms = INPUTS if place[0] == "parts" else TERMS
    assert imported <= permitted
    assert stages <= permitted
    assert (words & PARTS) - terms <= permitted


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_functions_take_few_parameters(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            count = len(node.args.args) + len(node.args.kwonlyargs)
            assert count <= MAX_PARAMETERS, f"{node.name} has {count} parameters"


def test_using_domains_loads_no_torch() -> None:
    code = "import sys, hips.cli, hips.domains as d; d.names(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_modules_are_attributes() -> None:
    code = "import hips; hips.domains.names(); hips.methods.names(); hips.data.collect"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
