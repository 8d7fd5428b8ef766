"""What a plug-in file registers can be named on the command line like anything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hips.benchmark import lines
from tests.benchmark.conftest import toy_catalogue

ROOT = Path(__file__).parents[2]
PLUGIN = """
from dataclasses import dataclass
import numpy as np
import tests.toys
from hips import methods
from hips.methods.base import Method
from hips.methods.low_level import build
from hips.planner import evaluations, generators
from hips.planner.protocols import Proposals

@evaluations.register("mine", uses_heuristic=False)
def mine(g, steps, log_pi, h):
    return g.astype(float)

@generators.register("mine")
@dataclass(frozen=True)
class Home:
    domain: object

    def propose(self, states):
        rows = np.arange(len(states))
        lists = np.full((len(states), 7), 1)
        return Proposals(rows, rows * 0, np.zeros(len(states)), actions=lists)

methods.register(
    Method("plugged", "Plugged", "a method of a plug-in", build, settings=("evaluation",),
           defaults={"evaluation": "mine"})
)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    return tmp_path


def hips(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hips", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def solve(folder: Path, *options: str) -> list[dict[str, Any]]:
    """Results on four lines of a domain that the plug-in brings along."""
    given = ("line_world", "--count", "4", "--plugin", "plugin.py", "--json", *options)
    result = hips(folder, "solve", *given)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_evaluations_generators_and_methods(folder: Path, workers: str) -> None:
    options = ("--evaluation", "mine", "--generator", "mine", "--workers", workers)
    found = solve(folder, *options)
    assert {record["method"] for record in found} == {"hips_eps"}
    assert {record["settings"]["evaluation"] for record in found} == {"mine"}
    assert {record["settings"]["generator"] for record in found} == {"mine"}
    # The generator proposes the way home, which passes through the goal: one expansion each.
    assert {record["expansions"] for record in found} == {1}
    assert {record["segments"][0]["kind"] for record in found} == {"subgoal"}
    plugged = solve(folder, "--method", "plugged", "--workers", workers)
    assert {record["settings"]["evaluation"] for record in plugged} == {"mine"}
    # Breadth first: a line is walked to both sides.
    assert sum(r["expansions"] for r in plugged) > sum(r["length"] for r in plugged)


def test_without_the_plug_in_the_choices_are_listed(folder: Path) -> None:
    for option in ("--evaluation", "--generator"):
        result = hips(folder, "solve", "sliding_tiles", option, "mine")
        assert result.returncode == 2
        assert f"Unknown {option[2:]} 'mine'. Available: " in result.stderr
        assert "Traceback" not in result.stderr


def test_methods_of_a_plug_in_are_listed(folder: Path) -> None:
    result = hips(folder, "methods", "plugged", "--plugin", "plugin.py", "--json")
    (found,) = json.loads(result.stdout)
    assert (found["label"], found["defaults"]) == ("Plugged", {"evaluation": "mine"})


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_catalogue_and_a_row_of_a_plug_in(folder: Path, workers: str) -> None:
    content = toy_catalogue()
    content["methods"]["breadth"] = {"method": "low_level", "settings": {"evaluation": "mine"}}
    content["experiments"]["three"]["parts"][0]["rows"].append("breadth")
    (folder / "own.json").write_text(json.dumps(content))
    own = ("--catalogue", "own.json", "--plugin", "plugin.py")
    chosen = ("--suite", "line", "--method", "breadth", "--method", "plugged")
    more = ("--problems", "3", "--workers", workers, "--out", "r")
    result = hips(folder, "bench", "three", *own, *chosen, *more)
    assert result.returncode == 0, result.stderr
    assert "6 new runs" in result.stderr
    assert "| breadth " in result.stdout
    assert "| Plugged " in result.stdout
    assert json.loads(hips(folder, "bench", "list", *own, "--json").stdout)["experiments"]
    runs = [line for line in lines.read(folder / "r" / lines.FILE) if line["type"] == "run"]
    spelled = {"low_level evaluation=mine", "plugged evaluation=mine"}
    assert {line["settings"]["evaluation"] for line in runs} == {"mine"}
    assert {" ".join(line["configuration"].split()[:2]) for line in runs} == spelled
    report = hips(folder, "bench", "report", "r", "--plugin", "plugin.py")
    assert report.returncode == 0, report.stderr
    assert "| Plugged " in (folder / "r" / "report.md").read_text()
