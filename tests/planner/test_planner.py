from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import hips
import tests.toys  # noqa: F401  (registers line_world)
from hips import domains
from hips.domains import Actions, Grids
from hips.errors import ConfigError, LevelError, ModelError
from hips.planner.budget import Budget
from hips.planner.components import Components, SearchSettings
from hips.planner.learned import LearnedActions, LearnedGenerator, LearnedReach, _SharedPrior
from hips.planner.outcomes import Outcome, exit_code
from hips.planner.parallel import SolveOptions, solve_in_processes
from hips.planner.planner import Planner
from hips.planner.policies import NearestStepPolicy
from hips.planner.protocols import DynamicsMode

LEVEL = "00100000"


@dataclasses.dataclass
class FakeRuntime:
    """Two codes: one jumps two cells to the right, one decodes to what cannot be reached."""

    length: int = 8
    prior_rows: int = 0
    decoded_rows: int = 0

    def prior(self, states: Grids) -> tuple[np.ndarray, np.ndarray]:
        self.prior_rows += len(states)
        count = len(states)
        codes = np.log(np.tile(np.array([0.25, 0.75], dtype=np.float32), (count, 1)))
        return codes, np.log(np.tile(np.array([0.5, 0.5], dtype=np.float32), (count, 1)))

    def decode(self, states: Grids, parents: Actions, codes: Actions) -> np.ndarray:
        self.decoded_rows += len(codes)
        scores = np.zeros((len(codes), 1, self.length, 3), dtype=np.float32)
        for m, (parent, code) in enumerate(zip(parents, codes, strict=True)):
            target = np.zeros(self.length, dtype=np.int64)
            place = int(states[parent, 0].argmax()) + 2
            target[min(place, self.length - 1)] = 1
            scores[m, 0, np.arange(self.length), target if code == 0 else 2] = 1.0
        return scores

    def policy(self, states: Grids, subgoals: Grids) -> tuple[np.ndarray, np.ndarray]:
        right = np.tile(np.array([0.04, 0.96], dtype=np.float32), (len(states), 3, 1))
        return np.log(right), np.ones(len(states), dtype=np.float32)


def learned(runtime: FakeRuntime) -> Components:
    domain = domains.create("line_world")
    prior = _SharedPrior(runtime)
    return Components(
        LearnedGenerator(domain, runtime, prior), LearnedReach(runtime), LearnedActions(prior)
    )


@pytest.mark.parametrize("level", [LEVEL, [[0, 0, 1, 0, 0, 0, 0, 0]], np.eye(8, dtype=int)[2:3]])
def test_levels_come_as_text_lists_or_grids(level: object) -> None:
    result = Planner.load("line_world").solve(level)
    assert result.plan == ("right",) * 5


@pytest.mark.parametrize("level", ["0010", "001x0000", [[1, 2], [3]], [[0.5] * 8], [[-1] * 8], []])
def test_bad_levels_are_refused(level: object) -> None:
    with pytest.raises(LevelError):
        Planner.load("line_world").solve(level)


def test_a_search_that_needs_a_model_says_so() -> None:
    with pytest.raises(ModelError, match="hips train"):
        Planner.load("line_world", settings=SearchSettings("hips-eps"))
    with pytest.raises(ModelError, match="nowhere"):
        Planner.load("line_world", model="nowhere")
    with pytest.raises(ConfigError, match="learned model"):
        Planner.load("line_world", settings=SearchSettings(dynamics=DynamicsMode.HYBRID))
    with pytest.raises(ConfigError, match="hips-eps"):
        SearchSettings("everything")


def test_a_learned_generator_jumps() -> None:
    runtime = FakeRuntime()
    planner = Planner(domains.create("line_world"), learned(runtime), SearchSettings(epsilon=1e-3))
    result = planner.solve(LEVEL)
    assert [segment.kind for segment in result.segments][:2] == ["subgoal", "subgoal"]
    assert result.plan == ("right",) * 5
    assert runtime.prior_rows == result.statistics.expansions
    # Per node: the prior once, two codes, and the policy once for each of the two subgoals.
    assert result.statistics.network_calls == 5 * result.statistics.expansions


def test_plain_hips_and_low_level_search() -> None:
    domain = domains.create("line_world")
    plain = Planner(domain, learned(FakeRuntime()), SearchSettings("hips")).solve(LEVEL)
    assert {segment.kind for segment in plain.segments} == {"subgoal"}
    settings = SearchSettings("low-level")
    low = Planner(domain, learned(FakeRuntime()), settings).solve(LEVEL)
    assert {segment.kind for segment in low.segments} == {"action"}
    assert low.statistics.network_calls == low.statistics.expansions


def test_solve_takes_parts_of_ones_own() -> None:
    line = domains.create("line_world")
    result = hips.solve(
        line, LEVEL, generator="repeat_action", evaluation="gbfs", reach=NearestStepPolicy(line)
    )
    assert result.outcome is hips.Outcome.SOLVED
    assert hips.solve("line_world", LEVEL, budget=Budget(expansions=1)).outcome is (
        Outcome.OUT_OF_EXPANSIONS
    )


def test_levels_of_several_sizes_in_one_call() -> None:
    planner = Planner.load("sliding_tiles", height=2, width=2)
    small, wide = [[1, 0], [2, 3]], [[1, 0, 2], [3, 4, 5]]
    results = planner.solve_many([small, wide, small])
    assert [result.plan for result in results] == [("left",)] * 3


def test_workers_change_nothing_but_the_times() -> None:
    domain = domains.create("sliding_tiles", height=2, width=3)
    starts = list(domain.sample(np.random.default_rng(0), 4))
    options = SolveOptions(budget=Budget(expansions=30), seed=3)
    alone = solve_in_processes(domain, starts, options, 1)
    seen = []
    apart = solve_in_processes(domain, starts, options, 2, lambda index, _: seen.append(index))
    assert sorted(seen) == [0, 1, 2, 3]
    assert [(r.outcome, r.plan, r.seed) for r in apart] == [
        (r.outcome, r.plan, r.seed) for r in alone
    ]


def test_exit_codes() -> None:
    assert [outcome.exit_code for outcome in Outcome] == [0, 1, 1, 1, 1, 1, 2, 130]
    assert exit_code([]) == 0
    assert exit_code([Outcome.SOLVED, Outcome.UNSOLVABLE]) == 1


def test_import_is_light() -> None:
    check = "import hips, sys; assert not {'numba', 'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
    assert "Planner" in dir(hips)
    with pytest.raises(AttributeError):
        _ = hips.nothing_of_that_name
