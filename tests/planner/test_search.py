from __future__ import annotations

import dataclasses
import json
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hips.domains import Actions, Grid, Grids
from hips.errors import ConfigError, ContractError
from hips.planner.budget import Budget
from hips.planner.expander import Hybrid
from hips.planner.explore import Recorder
from hips.planner.generators import RepeatAction
from hips.planner.nodes import NodeTable
from hips.planner.outcomes import Outcome
from hips.planner.policies import StateHeuristic, UniformPolicy, WeightedHeuristic
from hips.planner.protocols import DynamicsMode
from hips.planner.result import Result
from hips.planner.search import solve, solve_many

from . import reference
from .test_completeness import misleading
from .worlds import GraphWorld, LyingModel, TinyTiles, after, random_graph

GOLDEN = Path(__file__).parent / "golden"
SEARCHED = ("phs_hat", "phs_star", "levin_ts", "depth", "astar", "gbfs")


def low_level(domain: Any, **options: Any) -> Hybrid:
    return Hybrid(domain, low_level=UniformPolicy(domain.spec.num_actions), **options)


def without_times(result: Result) -> dict[str, Any]:
    content = result.to_json()
    return {name: content[name] for name in content if name not in ("seconds", "phases")}


@pytest.mark.parametrize("evaluation", SEARCHED)
@pytest.mark.parametrize("keep_first", [False, True])
def test_the_engine_searches_like_the_reference(evaluation: str, keep_first: bool) -> None:
    for seed in range(3):
        world = random_graph(seed, size=40, solvable=seed % 2 == 0)
        for adversary in ("plausible", "same_one"):
            for epsilon in (0.3, 1e-4, 0.0):
                expander = misleading(world, adversary, epsilon)
                plan, expanded = reference.search(
                    world, world.grid(0), expander, evaluation, keep_first=keep_first
                )
                result = solve(
                    world, world.grid(0), expander, evaluation, close_on_generation=keep_first
                )
                assert result.statistics.expansions == len(expanded)
                names = () if plan is None else world.spec.action_names(plan)
                assert result.plan == names


@pytest.mark.parametrize("evaluation", ["phs_hat", "phs_star", "depth", "astar", "gbfs"])
def test_distances_of_unlikely_actions_are_computed_only_when_they_matter(evaluation: str) -> None:
    """With an h that an action lowers by at most 1, the same search computes it less often."""
    domain = TinyTiles()
    epsilon = 0.0 if evaluation in ("astar", "gbfs") else 0.01
    counts = {None: 0, 1.0: 0}
    for start in domain.all_states()[3:700:41]:
        expanded = []
        for gain in counts:
            computed = StateHeuristic(lambda state: float(misplaced(state)), gain)
            recorder = Recorder(
                misleading(domain, "plausible", epsilon, heuristic=Counting(computed))
            )
            result = solve(domain, start, recorder, evaluation, Budget(expansions=60))
            counts[gain] += result.statistics.network_calls
            expanded.append((result.plan, np.concatenate(recorder.expanded).tobytes()))
        assert expanded[0] == expanded[1]
    assert counts[1.0] < counts[None]


def test_a_heuristic_may_leave_its_gain_out() -> None:
    class Plain:
        calls = 0

        def distances(self, states: Grids) -> np.ndarray:
            return np.zeros(len(states))

    world = random_graph(0)
    for heuristic in (Plain(), WeightedHeuristic(Plain(), 2.0)):  # type: ignore[arg-type]
        assert solve(world, world.grid(0), low_level(world, heuristic=heuristic)).solved


def misplaced(state: Grid) -> int:
    """How many cells are not as in the goal; one move changes it by 1 at most, the blank aside."""
    tiles = state.ravel()
    return int(((tiles != np.arange(tiles.size)) & (tiles != 0)).sum())


@dataclasses.dataclass(frozen=True)
class Counting:
    """A heuristic whose calls are counted."""

    inner: StateHeuristic
    calls: int = 1

    @property
    def gain(self) -> float | None:
        return self.inner.gain

    def distances(self, states: Grids) -> np.ndarray:
        return self.inner.distances(states)


@pytest.mark.parametrize("gain", [None, 1.0])
def test_results_do_not_depend_on_the_batch(gain: float | None) -> None:
    domain = TinyTiles()
    starts = domain.all_states()[5:400:67]
    expander = misleading(domain, "plausible", 0.01, gain)
    alone = [solve(domain, start, expander, budget=Budget(expansions=15)) for start in starts]
    for batch in (1, 3, 64):
        together = solve_many(domain, starts, expander, budget=Budget(expansions=15), batch=batch)
        assert [without_times(r) for r in together] == [without_times(r) for r in alone]


def test_slots_are_used_again_and_action_lists_survive_compaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = TinyTiles()
    starts = domain.all_states()[1:700:53]
    expander = dataclasses.replace(low_level(domain), generator=RepeatAction(domain), epsilon=0.01)
    budget = Budget(expansions=50)
    expected = solve_many(domain, starts, expander, "levin_ts", budget, batch=200)
    monkeypatch.setattr("hips.planner.nodes.COMPACTION_BYTES", 64)
    found = solve_many(domain, starts, expander, "levin_ts", budget, batch=2)
    assert [without_times(r) for r in found] == [without_times(r) for r in expected]


def test_a_solved_start_needs_no_search() -> None:
    domain = TinyTiles()
    result = solve(domain, domain.all_states()[0], low_level(domain), budget=Budget(0, 0.0, 0))
    assert result.outcome is Outcome.SOLVED
    assert result.plan == ()
    assert result.statistics.expansions == 0


@pytest.mark.parametrize(
    ("budget", "outcome"),
    [
        (Budget(expansions=7), Outcome.OUT_OF_EXPANSIONS),
        (Budget(expansions=0), Outcome.OUT_OF_EXPANSIONS),
        (Budget(seconds=0.0), Outcome.OUT_OF_TIME),
        (Budget(bytes=3000), Outcome.OUT_OF_MEMORY),
    ],
)
def test_budgets_end_a_search(budget: Budget, outcome: Outcome) -> None:
    domain = TinyTiles()
    start = domain.all_states()[-1]
    result = solve(domain, start, low_level(domain), budget=budget)
    assert result.outcome is outcome
    if budget.expansions is not None:
        assert result.statistics.expansions == budget.expansions
    if budget.bytes is not None:
        assert budget.bytes <= result.statistics.peak_bytes < 2 * budget.bytes


def test_exhaustion_beats_a_budget_that_ends_at_the_same_time() -> None:
    world = random_graph(1, solvable=False)
    unlimited = solve(world, world.grid(0), low_level(world))
    exactly = Budget(expansions=unlimited.statistics.expansions)
    assert solve(world, world.grid(0), low_level(world), budget=exactly).outcome is (
        Outcome.UNSOLVABLE
    )


def test_the_largest_search_makes_room_when_memory_is_short() -> None:
    domain = TinyTiles()
    states = domain.all_states()
    starts = [states[-1], states[0], states[-2]]
    results = solve_many(domain, starts, low_level(domain), total_bytes=20_000)
    assert results[1].solved
    assert Outcome.OUT_OF_MEMORY in {result.outcome for result in results}


def test_out_of_memory_in_a_round_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = TinyTiles()

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(NodeTable, "relax", fail)
    result = solve(domain, domain.all_states()[9], low_level(domain))
    assert result.outcome is Outcome.OUT_OF_MEMORY


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_impossible_budgets_are_refused(value: float) -> None:
    with pytest.raises(ConfigError):
        Budget(seconds=value)


def test_ctrl_c_returns_what_is_known() -> None:
    domain = TinyTiles()
    unsolvable = [s for s in domain.all_states()[:20] if not domain.solvable(s)]
    calls = 0

    @dataclasses.dataclass(frozen=True)
    class Impatient(UniformPolicy):
        def log_probabilities(self, states: Grids) -> np.ndarray:
            nonlocal calls
            calls += 1
            if calls == 12:
                signal.raise_signal(signal.SIGINT)
            return super().log_probabilities(states)

    assert threading.current_thread() is threading.main_thread()
    expander = dataclasses.replace(low_level(domain), low_level=Impatient(4))
    results = solve_many(domain, unsolvable, expander, batch=2)
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * len(unsolvable)
    assert results[0].statistics.expansions == 11
    assert results[-1].statistics.expansions == 0


@dataclasses.dataclass(frozen=True)
class CompiledInterrupt:
    """A policy in whose compiled kernel Ctrl-C strikes: Numba wraps it in a `SystemError`."""

    calls: int = 0

    def log_probabilities(self, states: Grids) -> np.ndarray:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


def test_ctrl_c_inside_a_compiled_kernel_is_ctrl_c() -> None:
    domain = TinyTiles()
    expander = dataclasses.replace(low_level(domain), low_level=CompiledInterrupt())
    unsolved = [s for s in domain.all_states() if not domain.is_goal(s[None])[0]][:3]
    results = solve_many(domain, unsolved, expander, "levin_ts", batch=2)
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * 3


def test_bad_problems_are_named_and_others_still_solved() -> None:
    domain = TinyTiles()
    good = domain.all_states()[9]
    wrong_shape = np.zeros((3, 3), dtype=np.uint8)
    wrong_symbol = np.full((2, 3), 9, dtype=np.uint8)
    results = solve_many(domain, [wrong_shape, good, wrong_symbol], low_level(domain))
    assert [result.outcome for result in results] == [
        Outcome.INVALID_INPUT,
        Outcome.SOLVED if domain.solvable(good) else Outcome.UNSOLVABLE,
        Outcome.INVALID_INPUT,
    ]
    assert "(2, 3)" in results[0].message
    assert "9" in results[2].message


def test_bad_batch() -> None:
    domain = TinyTiles()
    with pytest.raises(ConfigError, match="batch"):
        solve_many(domain, domain.all_states()[:2], low_level(domain), batch=0)
    assert solve_many(domain, [], low_level(domain)) == []


@pytest.mark.parametrize("value", [np.nan, -3.0, np.inf])
def test_a_mad_heuristic_is_clamped_and_counted(value: float) -> None:
    for solvable in (True, False):
        world = random_graph(5, solvable=solvable)
        expander = low_level(world, heuristic=StateHeuristic(lambda state: value))
        for evaluation in SEARCHED:
            result = solve(world, world.grid(0), expander, evaluation)
            assert result.solved == solvable
            if evaluation != "levin_ts" and not solvable:
                assert result.statistics.clamped > 0


def test_broken_plugins_are_named() -> None:
    world = random_graph(0)

    class Short:
        calls = 0
        gain = None

        def distances(self, states: Grids) -> np.ndarray:
            return np.zeros(len(states) + 1)

    with pytest.raises(ContractError, match="heuristic"):
        solve(world, world.grid(0), low_level(world, heuristic=Short()))
    with pytest.raises(ContractError, match="NaN"):
        solve(world, world.grid(0), low_level(world), lambda g, steps, log_pi, h: h * np.nan)


def test_a_domain_that_contradicts_itself_is_found_out() -> None:
    class Fickle(GraphWorld):
        """Steps one by one lead elsewhere than steps in a batch."""

        def step(self, states: Grids, actions: Actions) -> Grids:
            return states if len(states) == 1 else super().step(states, actions)

    world = random_graph(2)
    fickle = Fickle(world.edges, world.goals)
    with pytest.raises(ContractError, match="deterministic"):
        solve(fickle, fickle.grid(0), low_level(fickle))


def test_counts_of_steps_and_calls() -> None:
    world = random_graph(4, solvable=False)
    result = solve(world, world.grid(0), low_level(world))
    statistics = result.statistics
    assert statistics.environment_steps == 3 * statistics.expansions
    assert statistics.network_calls == statistics.model_calls == statistics.replans == 0
    assert statistics.action_expansions == statistics.expansions - 1
    assert statistics.peak_bytes > 0
    learned = misleading(
        world, "plausible", mode=DynamicsMode.LEARNED, model=LyingModel(world, 0.0)
    )
    statistics = solve(world, world.grid(0), learned).statistics
    assert statistics.environment_steps == 0
    assert statistics.model_calls > 3 * statistics.expansions


def test_a_true_state_is_not_blocked_by_the_same_state_from_the_model() -> None:
    """The model claims that action 0 jumps to vertex 3 next to the goal; only action 1 leads there.

    Were the two vertices 3 one node, the false one would be expanded, its plan rejected, and
    the true one never found.
    """
    edges = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 4))
    world = GraphWorld(edges, frozenset({4}))

    class Liar:
        def step(self, states: Grids, actions: Actions) -> Grids:
            claimed = world.step(states, actions)
            claimed[(world.vertices(states) == 0) & (actions == 0)] = world.grid(3)
            return claimed

    expander = dataclasses.replace(
        low_level(world),
        generator=RepeatAction(world, length=1),
        epsilon=1e-9,
        mode=DynamicsMode.HYBRID,
        model=Liar(),
    )
    result = solve(world, world.grid(0), expander)
    assert result.plan == ("a1",) * 4
    assert result.statistics.replans >= 1


def test_a_rejected_goal_can_still_be_reached_another_way() -> None:
    """In learned mode the model's shortcut to the goal is false, its longer way is true."""
    edges = ((0, 1), (1, 2), (2, 2))
    world = GraphWorld(edges, frozenset({2}))

    class Liar:
        def step(self, states: Grids, actions: Actions) -> Grids:
            claimed = world.step(states, actions)
            claimed[(world.vertices(states) == 0) & (actions == 0)] = world.grid(2)
            return claimed

    expander = dataclasses.replace(low_level(world), mode=DynamicsMode.LEARNED, model=Liar())
    result = solve(world, world.grid(0), expander, "levin_ts")
    assert result.plan == ("a1", "a1")
    assert result.statistics.replans == 1


def test_results_turn_into_json_and_back() -> None:
    world = random_graph(0)
    result = solve(world, world.grid(0), misleading(world, "plausible"), seed=7)
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
    assert result.seed == 7


# -- bounds and golden trees -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["graph", "tiles", "hybrid"])
def test_golden_search_trees(name: str) -> None:
    """The order of expansion and the plan of three tiny worlds, stored once and for all."""
    tiles = TinyTiles()
    world = random_graph(22, size=20)
    cases = {
        "graph": (world, world.grid(0), misleading(world, "plausible", 0.1), "phs_hat"),
        "tiles": (
            tiles,
            after(tiles, tiles.all_states()[0], [1, 2, 1, 0]),
            low_level(tiles),
            "levin_ts",
        ),
        "hybrid": (world, world.grid(0), misleading(world, "away_from_goals", 0.0), "gbfs"),
    }
    domain, start, expander, evaluation = cases[name]
    stored = json.loads((GOLDEN / f"{name}.json").read_text())
    expanded: list[Any] = []

    @dataclasses.dataclass(frozen=True)
    class Recorder:
        inner: Hybrid

        def __getattr__(self, attribute: str) -> Any:
            return getattr(self.inner, attribute)

        def expand(self, states: Grids) -> Any:
            expanded.extend(states.tolist())
            return self.inner.expand(states)

    result = solve(domain, start, Recorder(expander), evaluation, Budget(expansions=60))
    assert expanded == stored["expanded"]
    assert list(result.plan) == stored["plan"]
    segments = [[segment.kind, segment.label, segment.steps] for segment in result.segments]
    assert segments == stored["segments"]
