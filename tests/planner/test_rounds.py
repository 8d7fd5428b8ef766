"""Searches that are watched, driven round by round, stopped and interrupted."""

from __future__ import annotations

import dataclasses
import signal
import threading

import numpy as np
import pytest

from hips import domains
from hips.arrays import Grid
from hips.domains import Domain, Grids
from hips.planner import kernels
from hips.planner.budget import Budget
from hips.planner.children import Fate
from hips.planner.options import SearchOptions
from hips.planner.outcomes import Outcome
from hips.planner.policies import UniformPolicy
from hips.planner.result import Result, Statistics
from hips.planner.rounds import Observer, ResultObserver, Round, StopSearch
from hips.planner.search import Search, solve_many
from hips.seeding import stream

from .expanders import Recording, low_level, misleading
from .test_search import without_times
from .worlds import TinyTiles, random_graph

DOMAIN = TinyTiles()
STARTS = DOMAIN.all_states()[5:400:67]


def hopeless(count: int) -> list[np.ndarray]:
    return [state for state in DOMAIN.all_states() if not DOMAIN.solvable(state)][:count]


def new_search(batch: int = 64, observer: Observer | None = None) -> Search:
    options = SearchOptions(budget=Budget(max_expansions=120), batch=batch)
    return Search(DOMAIN, STARTS, misleading(DOMAIN, "plausible", 0.01, 1.0), options, observer)


@pytest.mark.parametrize("batch", [1, 4, 64])
def test_driving_a_search_is_running_it(batch: int) -> None:
    expected = new_search().run()
    search = new_search(batch)
    rounds = list(search.rounds())
    results = search.results()
    assert [without_times(r) for r in results] == [without_times(r) for r in expected]
    assert [one.number for one in rounds] == list(range(1, len(rounds) + 1))
    assert list(search.rounds()) == []
    for problem, result in enumerate(results):
        assert_counts_agree(rounds, problem, result.statistics)


def assert_counts_agree(rounds: list[Round], problem: int, statistics: Statistics) -> None:
    """What the rounds show of a problem is what its statistics say."""
    fates = dict.fromkeys(Fate, 0)
    expansions = generated = 0
    for one in rounds:
        rows = np.flatnonzero(one.expanded.problems == problem)
        assert one.rejected is not None
        mine = np.isin(one.offered.parents, rows)
        expansions += len(rows)
        generated += int(mine.sum())
        pending = one.offered.pending[mine]
        fates[Fate.KEPT] += int(((one.offered.kinds[mine] >= 0) & ~pending).sum())
        fates[Fate.PENDING] += int(pending.sum())
        for fate in one.rejected.fates[np.isin(one.rejected.parents, rows)]:
            fates[Fate(fate)] += 1
    assert (expansions, generated) == (statistics.expansions, statistics.generated)
    assert fates == {
        Fate.KEPT: statistics.proposals_kept,
        Fate.ILLEGAL: statistics.proposals_illegal,
        Fate.REPEATED: statistics.proposals_repeated,
        Fate.UNREACHED: statistics.proposals_unreached,
        Fate.PENDING: statistics.proposals_pending,
    }


@pytest.mark.parametrize("adversary", ["plausible", "same_one"])
def test_rounds_tell_which_nodes_wait_and_which_edges_count(adversary: str) -> None:
    world = random_graph(3, size=40, solvable=False)
    search = Search(world, [world.grid(0)], misleading(world, adversary, 0.1))
    waiting: set[int] = set()
    steps: dict[int, int] = {}
    for one in search.rounds():
        (node,) = one.expanded.nodes.tolist()
        assert node in waiting or one.number == 1
        waiting.discard(node)
        offered = one.offered
        new = offered.nodes[offered.accepted & ~offered.goals]
        waiting |= set(new.tolist())
        assert one.open_nodes.tolist() == [len(waiting)]
        assert (offered.steps == steps.get(node, 0) + offered.lengths).all()
        accepted = offered.accepted
        steps |= zip(offered.nodes[accepted].tolist(), offered.steps[accepted], strict=True)
        assert np.exp(offered.log_probabilities).sum() == pytest.approx(1.0)
    assert not waiting
    assert search.results()[0].outcome is Outcome.UNSOLVABLE


def test_leaving_the_rounds_keeps_what_is_known_and_stopping_ends_the_rest() -> None:
    search = Search(DOMAIN, hopeless(4), low_level(DOMAIN), SearchOptions(batch=2))
    for one in search.rounds():
        if one.number == 3:
            break
    assert search.results() == []
    search.stop()
    results = search.results()
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * 4
    assert [result.statistics.expansions for result in results] == [3, 3, 0, 0]
    assert all(result.plan == () for result in results)
    assert list(search.rounds()) == []
    assert search.run() == results


def test_a_search_can_be_driven_a_little_and_then_run() -> None:
    expected = new_search().run()
    search = new_search(2)
    for one in search.rounds():
        if one.number == 5:
            break
    assert [without_times(r) for r in search.run()] == [without_times(r) for r in expected]


@dataclasses.dataclass
class Watcher(Observer):
    """Remembers what it is told, and stops the search after some rounds or at a result."""

    most_rounds: int = 10**9
    stop_at_result: bool = False
    rounds: list[Round] = dataclasses.field(default_factory=list)
    results: dict[int, Result] = dataclasses.field(default_factory=dict)

    def on_round(self, round: Round) -> None:
        self.rounds.append(round)
        if len(self.rounds) == self.most_rounds:
            raise StopSearch

    def on_result(self, index: int, result: Result) -> None:
        self.results[index] = result
        if self.stop_at_result:
            raise StopSearch


def test_an_observer_sees_every_round_and_every_result_once() -> None:
    watcher = Watcher()
    results = new_search(3, watcher).run()
    driven = list(new_search(3).rounds())
    assert [one.expanded.nodes.tolist() for one in watcher.rounds] == [
        one.expanded.nodes.tolist() for one in driven
    ]
    assert [watcher.results[index] for index in range(len(STARTS))] == results


def test_an_observer_can_stop_all_searches() -> None:
    watcher = Watcher(most_rounds=4)
    results = solve_many(DOMAIN, hopeless(3), low_level(DOMAIN), watcher, batch=2)
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * 3
    assert [result.statistics.expansions for result in results] == [4, 4, 0]


def test_a_result_that_stops_the_rest_is_kept() -> None:
    near = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    watcher = Watcher(stop_at_result=True)
    results = solve_many(DOMAIN, [*hopeless(2), near], low_level(DOMAIN), watcher)
    outcomes = [result.outcome for result in results]
    assert outcomes == [Outcome.INTERRUPTED, Outcome.INTERRUPTED, Outcome.SOLVED]


def test_rounds_are_made_only_for_those_who_want_them() -> None:
    told: list[int] = []
    recording = Recording(misleading(DOMAIN, "plausible"))
    budget = Budget(max_expansions=5)
    observer = ResultObserver(lambda index, result: told.append(index))
    solve_many(DOMAIN, hopeless(2), recording, observer, budget=budget)
    assert sorted(told) == [0, 1]
    assert recording.explained == [False] * 5
    solve_many(DOMAIN, hopeless(2), recording, Watcher(), budget=budget)
    assert recording.explained[5:] == [True] * 5


# -- Ctrl-C --------------------------------------------------------------------------------------


def test_ctrl_c_returns_what_is_known() -> None:
    unsolvable = hopeless(10)
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
    expander = dataclasses.replace(low_level(DOMAIN), action_policy=Impatient(4))
    results = solve_many(DOMAIN, unsolvable, expander, batch=2)
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * len(unsolvable)
    assert results[0].statistics.expansions == 11
    assert results[-1].statistics.expansions == 0


@dataclasses.dataclass(frozen=True)
class CompiledInterrupt:
    """A policy in whose compiled kernel Ctrl-C strikes: Numba wraps it in a `SystemError`."""

    cause: type[BaseException]

    def log_probabilities(self, states: Grids) -> np.ndarray:
        raise SystemError("returned a result with an exception set") from self.cause()


def test_ctrl_c_inside_a_compiled_kernel_is_ctrl_c() -> None:
    expander = dataclasses.replace(
        low_level(DOMAIN), action_policy=CompiledInterrupt(KeyboardInterrupt)
    )
    results = solve_many(DOMAIN, hopeless(3), expander, evaluation="levin_ts", batch=2)
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * 3
    broken = dataclasses.replace(expander, action_policy=CompiledInterrupt(ValueError))
    with pytest.raises(SystemError):
        solve_many(DOMAIN, hopeless(3), broken)


def many_states(count: int) -> tuple[Domain, list[Grid]]:
    """Puzzles whose search outgrows the first hash table."""
    domain = domains.create("sliding_tiles", height=3, width=3)
    return domain, list(domain.sample(stream(0, "tests", "growth"), count))


def test_ctrl_c_while_the_hash_table_grows_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(table: kernels.Table) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "rebuild", interrupted)
    domain, puzzles = many_states(2)
    results = solve_many(domain, puzzles, low_level(domain), batch=2)
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * 2


def test_a_hash_table_that_cannot_grow_serves_the_next_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zeros, refused = np.zeros, []

    def short_of_memory(shape: int, dtype: type = float) -> np.ndarray:
        if dtype is np.int32 and shape == 2048 and not refused:
            refused.append(shape)
            raise MemoryError
        return zeros(shape, dtype=dtype)

    domain, puzzles = many_states(2)
    alone = solve_many(domain, puzzles[1:], low_level(domain), batch=1)
    monkeypatch.setattr(np, "zeros", short_of_memory)
    results = solve_many(domain, puzzles, low_level(domain), batch=1)
    assert refused
    assert [r.outcome for r in results] == [Outcome.OUT_OF_MEMORY, Outcome.SOLVED]
    assert without_times(results[1]) == without_times(alone[0])
