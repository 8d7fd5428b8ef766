"""More than 10⁵ small searches against the exhaustive truth: every method, every setting."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hips import domains, methods, parts
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.planner.components import Components
from hips.planner.evaluations import EVALUATIONS
from hips.planner.outcomes import Outcome
from hips.planner.policies import NearestStepPolicy, StateHeuristic, UniformPolicy
from hips.planner.result import Result
from hips.planner.settings import Settings
from hips.planner.validate import is_plan
from hips.seeding import stream
from hips.training.config import default_config, override
from tests.models.untrained import export_untrained
from tests.planner.worlds import ADVERSARIES, Adversary, LyingModel

from .families import Family, family

pytestmark = pytest.mark.slow

VARIED: dict[str, tuple[Any, ...]] = {
    "evaluation": tuple(name for name in EVALUATIONS if "example" not in name),
    "epsilon": (1.0, 0.1, 1e-3, 1e-5, 0.0),
    "dynamics": ("true", "true", "hybrid", "learned"),
    "generator": ("learned", "repeat_action", "random_legal", "expert"),
    "heuristic_weight": (1.0, 3.0),
    "prior_temperature": (1.0, 4.0),
    "min_reach_probability": (0.0, 0.2, 1.0),
    "chunk_confidence": (0.5, 1.0),
    "horizon": (1, 4, 50),
    "rollout_retries": (0, 2, 8),
    "pass_goals": (True, False),
    "equal_subgoals": ("sum", "max"),
    "legality_check": (True, False),
    "close_on_generation": (False, True),
    "rerooting": (0.0, 2.0, 30.0),
    "rollouts": ("eager", "foreseen", "late"),
    "width": (1, 3),
    "shares": ("nodes", "time"),
    "head_start": (0, 60),
    "top_p": (0.5, 1.0),
    "early_expansions": (0, 3),
    "early_top_p": (0.3, 0.8),
}
"""Values of settings; each search takes one of each at random. A new setting is one line."""
WIRED = ("hips_eps", "hips", "phs_star", "sqrt_lts", "sqrt_lts_eps", "low_level")
"""Methods that run with components of ours instead of a model."""
ROUNDS = 20
"""Random combinations of settings for each domain and method; 240 searches each."""


def noise(state: np.ndarray) -> float:
    return float(int(state.ravel() @ np.arange(state.size)) % 7)


def drawn(rng: np.random.Generator, method: str) -> dict[str, Any]:
    """A random value for every setting of a method."""
    names = [name for name in VARIED if name in methods.get(method).settings]
    return {name: VARIED[name][int(rng.integers(len(VARIED[name])))] for name in names}


def components(problems: Family, rng: np.random.Generator) -> Components:
    """Components that mislead in one of many ways."""
    domain = problems.domain
    adversary = list(ADVERSARIES.values())[int(rng.integers(len(ADVERSARIES)))]
    decrease = (None, 0.0, 3.0)[int(rng.integers(3))]
    return Components(
        generator=Adversary(domain, adversary),
        reach_policy=NearestStepPolicy(domain),
        action_policy=UniformPolicy(domain.spec.num_actions),
        heuristic=StateHeuristic(noise, decrease),
        dynamics=LyingModel(domain, float(rng.choice([0.0, 0.3, 1.0])), int(rng.integers(9))),
    )


def check(problems: Family, results: list[Result], complete: bool) -> None:
    """Every verdict is right; a search that may miss plans may only say so."""
    for start, solvable, result in zip(problems.starts, problems.solvable, results, strict=True):
        if result.solved:
            assert is_plan(problems.domain, start, problems.domain.spec.action_indices(result.plan))
            assert solvable
        elif complete:
            assert not solvable, result
            assert result.outcome is Outcome.UNSOLVABLE
        elif result.outcome is Outcome.UNSOLVABLE:
            # Only the domain itself can know this, before any search.
            assert not solvable
            assert result.statistics.expansions == 0


def test_the_families_have_both_sorts_of_problems() -> None:
    for name in domains.names():
        if name in ("sokoban", "sliding_tiles", "box_world"):
            assert set(family(name).solvable.tolist()) == {True, False}
    assert len(WIRED) * 4 * ROUNDS * 240 >= 10**5


@pytest.mark.parametrize("method", WIRED)
@pytest.mark.parametrize("name", ["sliding_tiles", "sokoban", "box_world", "tsp"])
def test_every_verdict_is_right(name: str, method: str) -> None:
    problems = family(name)
    rng = stream(0, "attack", name, method)
    for _ in range(ROUNDS):
        values, own = drawn(rng, method), components(problems, rng)
        if values.get("generator", "learned") != "learned":
            own = dataclasses.replace(own, generator=None)
        choice = Choice(method, Settings(**values), execution=Execution(int(rng.integers(1, 300))))
        results = Planner(problems.domain, choice, own).solve_many(list(problems.starts))
        learned = values.get("dynamics") == "learned"
        check(problems, results, complete=not learned and methods.get(method).complete)


@pytest.fixture(scope="module", params=["sliding_tiles", "sokoban", "box_world", "tsp"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of untrained networks for the problems of a domain, with every part."""
    out: Path = tmp_path_factory.mktemp("models") / str(request.param)
    domain = family(str(request.param)).domain
    config = default_config(domain, parts.known(), "smoke")
    codes = ["subgoals.num_codes=8", "prior.num_codes=8"]
    export_untrained(domain, override(config, codes), out)
    return out


@pytest.mark.parametrize("method", [name for name in methods.names() if name != "lama"])
@pytest.mark.parametrize("named", [None, "paper"])
def test_networks_that_know_nothing_mislead_no_method(
    model: Path, method: str, named: str | None
) -> None:
    problems = family(model.name)
    some = Family(problems.domain, problems.starts[::6], problems.solvable[::6])
    choice = Choice(method, Settings(), named, model if methods.get(method).parts else None)
    if obstacle := methods.get(method).obstacle(some.domain):
        pytest.skip(obstacle)
    planner = Planner(some.domain, choice)
    check(some, planner.solve_many(list(some.starts)), complete=methods.get(method).complete)
