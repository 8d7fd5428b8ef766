"""A catalogue over the toy world, and components that stand in for a trained model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.toys  # noqa: F401  (registers line_world)
from hips.benchmark.experiments import CATALOGUE, Catalogue
from hips.benchmark.tasks import Cell
from hips.domains import Actions, Domain, Grids
from hips.models import bundle
from hips.planner import parallel
from hips.planner.components import Components, SearchSettings
from hips.planner.generators import RepeatAction
from hips.planner.policies import UniformPolicy
from hips.planner.result import Result
from tests.toys import AGENT

SIZE = {
    "problems": 6,
    "timed_problems": 2,
    "expansions": 40,
    "seconds": 5,
    "chunk": 4,
    "minutes": None,
}


@dataclass(frozen=True)
class LineHeuristic:
    """The true distance on a line without holes."""

    calls: int = 0
    gain: float | None = 1.0

    def distances(self, states: Grids) -> np.ndarray[Any, Any]:
        return (states.shape[2] - 1 - (states[:, 0] == AGENT).argmax(axis=1)).astype(np.float64)


@dataclass(frozen=True)
class TrueModel:
    domain: Domain

    def step(self, states: Grids, actions: Actions) -> Grids:
        return self.domain.step(states, actions)


def line_components(
    domain: Domain, settings: SearchSettings, model: object = None
) -> Callable[[Domain], Components]:
    def make(sized: Domain) -> Components:
        uniform = UniformPolicy(sized.spec.num_actions)
        return Components(
            RepeatAction(sized), None, uniform, LineHeuristic(), TrueModel(sized), horizon=3
        )

    return make


def toy_catalogue() -> dict[str, Any]:
    """The paper's methods on lines, in one experiment of every sort."""
    methods = json.loads(CATALOGUE.read_text())["methods"]
    searches = [name for name, method in methods.items() if method.get("kind") != "peer"]
    part = {"suite": "line", "rows": searches, "points": [1, 3, None]}
    few = ["phs_star", "hips", "hips_eps"]
    return {
        "sizes": {"quick": SIZE},
        "methods": methods,
        "suites": {
            "line": {"label": "Line", "domain": "line_world"},
            "long": {"label": "Long line", "domain": "line_world", "parameters": {"length": 20}},
        },
        "experiments": {
            "everything": {"title": "Every method", "parts": [part]},
            "three": {
                "title": "Three methods",
                "about": "On two suites.",
                "parts": [
                    {"suite": "line", "rows": few, "points": [1, 3, None], "ratio_to": "hips"},
                    {
                        "suite": "long",
                        "rows": few,
                        "points": [3, "mean"],
                        "solved_by": "hips",
                        "shares": True,
                    },
                ],
            },
            "clock": {
                "title": "Seconds",
                "timed": True,
                "resource": "seconds",
                "parts": [{"suite": "line", "rows": [*few, "lama"], "points": [1, 5]}],
            },
        },
    }


EMPTY_CARD = json.dumps({"format_version": bundle.FORMAT_VERSION, "files": {}})


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue(toy_catalogue())


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes the toy world look as if it had a trained model; returns the model's card."""
    card = tmp_path / "model" / bundle.CARD
    card.parent.mkdir()
    card.write_text(EMPTY_CARD)
    monkeypatch.setattr(bundle, "find", lambda name: card.parent)
    monkeypatch.setattr(parallel, "installed_components", line_components)
    monkeypatch.setattr(parallel, "_planners", {})
    return card


@dataclass
class Counter:
    """A watcher that counts."""

    begun: list[tuple[str, int, int]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def begin(self, cell: Cell, done: int, total: int) -> None:
        self.begun.append((cell.method.name, done, total))

    def advance(self, cell: Cell, result: Result) -> None:
        self.results.append(result)
