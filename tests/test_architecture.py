"""Imports point one way, torch stays where it belongs, and domains keep their names to themselves.

`docs/architecture.md` says which folder may import which.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "hips"
ORDER = (
    "domains",
    "demonstrations",
    "models",
    "planner",
    "training",
    "baselines",
    "benchmark",
    "cli",
)
FOUNDATIONS = ("errors", "registry", "seeding", "files", "statistics", "workers", "_version")
ENTRANCES = ("__init__", "__main__")
TORCH_FOLDERS = ("training", "models/networks")
TRAINING_PACKAGES = ("torch", "vector_quantize_pytorch", "tensorboard", "safetensors")
MAX_LINES = 400


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
def test_torch_is_imported_only_for_training(path: Path) -> None:
    if not identify(path).startswith(TORCH_FOLDERS):
        roots = {module.split(".")[0] for module in imports(path)}
        assert not roots & set(TRAINING_PACKAGES)


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_domains_are_named_only_in_their_own_folder(path: Path) -> None:
    """Code compares with no domain's name; docstrings may use one as an example."""
    names = {p.name for p in (PACKAGE / "domains").iterdir() if (p / "__init__.py").is_file()}
    own = path.relative_to(PACKAGE).parts[1] if path.is_relative_to(PACKAGE / "domains") else ""
    literals = {
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert not literals & (names - {own})


@pytest.mark.parametrize("path", modules(), ids=identify)
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


def test_using_domains_loads_no_torch() -> None:
    code = "import sys, hips.cli, hips.domains as d; d.names(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
