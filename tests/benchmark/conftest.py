"""A catalogue over the toy world, and components that stand in for a trained model."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.toys  # noqa: F401  (registers line_world)
from hips.arrays import Actions, Floats, Grids
from hips.benchmark.experiments import CATALOGUE, Catalogue
from hips.benchmark.tasks import Cell
from hips.domains import Domain
from hips.methods import jobs
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models import bundle
from hips.models.card import CARD, FORMAT_VERSION
from hips.planner.components import Components
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

    max_decrease: float | None = 1.0

    def distances(self, states: Grids) -> Floats:
        return (states.shape[2] - 1 - (states[:, 0] == AGENT).argmax(axis=1)).astype(np.float64)


@dataclass(frozen=True)
class TrueDynamics:
    """Learned dynamics that have learned everything."""

    domain: Domain

    def step(self, states: Grids, actions: Actions) -> Grids:
        return self.domain.step(states, actions)


def line_planner(domain: Domain, choice: Choice) -> Planner:
    """A planner with components that stand in for a model's."""
    own = Components(
        RepeatAction(domain),
        None,
        UniformPolicy(domain.spec.num_actions),
        LineHeuristic(),
        TrueDynamics(domain),
    )
    return Planner(domain, choice, own)


def toy_catalogue() -> dict[str, Any]:
    """The paper's methods on lines, in one experiment of every sort."""
    methods = json.loads(CATALOGUE.read_text())["methods"]
    searches = [name for name, entry in methods.items() if entry["method"] != "lama"]
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


LINE_CARD = {
    "format_version": FORMAT_VERSION,
    "domain": "line_world",
    "parameters": {},
    "spec": {"height": 1, "width": 8, "symbols": 3, "actions": 2},
    "any_size": True,
    "parts": {
        part: {"configuration": {}} for part in ("subgoals", "prior", "reach_policy", "heuristic")
    },
    "configuration": {"horizon": 3},
    "settings": {},
    "files": {},
}
"""A model whose parts have no files: `line_planner` brings components of its own."""


def install(folder: Path) -> Path:
    """Puts the card of a model for every name into `folder`; returns the card."""
    card = folder / CARD
    card.parent.mkdir(parents=True)
    card.write_text(json.dumps(LINE_CARD))
    return card


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue(toy_catalogue())


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes the toy world look as if it had a trained model; returns the model's card."""
    card = install(tmp_path / "model")
    monkeypatch.setattr(bundle, "find", lambda name: card.parent)
    monkeypatch.setattr(jobs, "Planner", line_planner)
    monkeypatch.setattr(jobs, "_planners", {})
    return card


@dataclass
class Counter:
    """A watcher that counts."""

    begun: list[tuple[str, int, int]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def begin(self, cell: Cell, done: int, total: int) -> None:
        self.begun.append((cell.variant.name, done, total))

    def advance(self, cell: Cell, result: Result) -> None:
        self.results.append(result)
