from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest

from hips import domains
from hips.arrays import Actions, Floats, Grid, Grids
from hips.domains import replay
from hips.domains.base import Domain
from hips.domains.breadth_first import BreadthFirst
from hips.planner.beams import ROWS_PER_SLICE, Beams
from hips.planner.improve import Improvement, lay_out
from hips.planner.outcomes import Outcome
from hips.planner.protocols import Heuristic
from hips.planner.result import FoundPlan, Result
from hips.planner.shortcuts import Guide, shortcuts
from hips.planner.state_graph import Path, StateGraph

from .worlds import TinyTiles, random_graph

DOMAIN = TinyTiles()
TILES = domains.create("sliding_tiles", height=3, width=3)
ENOUGH = 1 << 24
LONG = 600.0
"""More seconds than it takes to prove that a plan of these small domains is optimal."""


class Guess:
    """A heuristic made of a function of the states."""

    def __init__(self, function: Callable[[Grids], Floats]) -> None:
        self.distances = function


HEURISTICS: dict[str, Heuristic | None] = {
    "none": None,
    "misplaced": Guess(lambda states: (states[:] != np.arange(6).reshape(2, 3)).sum((1, 2)) * 1.0),
    "nan": Guess(lambda states: np.full(len(states), np.nan)),
    "reversed": Guess(lambda states: -1.0 * (states != np.arange(6).reshape(2, 3)).sum((1, 2))),
}


def wander(domain: Domain, seed: int, steps: int) -> Result:
    """A result with a long plan: a random walk from the goal, taken backwards."""
    rng = np.random.default_rng(seed)
    walk = rng.integers(4, size=steps)
    goal = np.arange(domain.spec.height * domain.spec.width, dtype=np.uint8)
    states = replay(domain, goal.reshape(domain.spec.shape), walk)
    moved = (states[1:] != states[:-1]).any(axis=(1, 2))
    plan = domain.spec.action_names(((walk[moved] + 2) % 4)[::-1])
    return Result(Outcome.SOLVED, plan, start=states[-1], domain=domain)


def shortest(result: Result) -> int:
    """The length of an optimal plan, by exhaustive search."""
    assert result.domain is not None
    assert result.start is not None
    search = BreadthFirst(result.domain, result.start)
    while not result.domain.is_goal(search.layer).any():
        search.advance()
    return search.depth


@pytest.mark.parametrize("name", HEURISTICS)
@pytest.mark.parametrize("seed", range(3))
def test_with_enough_time_plans_are_optimal(seed: int, name: str) -> None:
    found = wander(DOMAIN, seed, 60)
    assert found.start is not None
    better = Improvement(found, HEURISTICS[name]).run(LONG)
    actions = DOMAIN.spec.action_indices(better.plan)
    assert DOMAIN.is_goal(replay(DOMAIN, found.start, actions)[-1:])[0]
    assert len(actions) == shortest(found)
    assert sum(segment.steps for segment in better.segments) == len(actions)


def test_every_better_plan_is_reported_with_its_time() -> None:
    found = wander(TILES, 1, 300)
    seen: list[Result] = []
    better = Improvement(found).run(LONG, seen.append)
    assert better.history[0] == FoundPlan(0.0, len(found.plan))
    assert tuple(result.history[-1] for result in seen) == better.history[1:]
    lengths = [plan.length for plan in better.history]
    assert lengths == sorted(set(lengths), reverse=True)
    assert lengths[-1] == len(better.plan) == shortest(found)
    times = [plan.seconds for plan in better.history]
    assert times == sorted(times)
    assert Result.from_json(better.to_json()) == better
    again = Improvement(found).run(LONG)
    assert [plan.length for plan in again.history] == lengths
    assert again.plan == better.plan


def test_an_interrupt_keeps_the_best_plan() -> None:
    improvement = Improvement(wander(TILES, 1, 300))
    reported: list[Result] = []

    def interrupt(result: Result) -> None:
        reported.append(result)
        if len(reported) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        improvement.run(LONG, interrupt)
    assert improvement.result is reported[-1]
    assert len(improvement.result.history) == 3


def test_little_memory_ends_the_improvement() -> None:
    found = wander(TILES, 2, 300)
    better = Improvement(found, max_memory=1).run(LONG)
    assert len(better.plan) <= len(found.plan)
    assert better.states[-1].tolist() == np.arange(9).reshape(3, 3).tolist()


def test_loops_are_cut_out_and_the_plan_ends_at_its_first_goal() -> None:
    start = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    plan = np.array([1, 3, 2, 0, 3, 1, 3])  # two loops, the goal, and away from it and back
    graph = StateGraph(DOMAIN, start, ENOUGH)
    assert lay_out(graph, plan).actions.tolist() == [3]


def test_no_time_and_no_plan_change_nothing() -> None:
    found = wander(DOMAIN, 0, 20)
    assert Improvement(found).run(0.0) is found
    unsolved = Result(Outcome.OUT_OF_TIME, start=found.start, domain=DOMAIN)
    assert Improvement(unsolved).run(1.0) is unsolved


@pytest.mark.parametrize("domain", [DOMAIN, TILES], ids=["near", "far"])
def test_a_beam_as_wide_as_the_world_finds_a_shortest_plan(domain: Domain) -> None:
    found = wander(domain, 1, 300)
    assert found.start is not None
    graph = StateGraph(domain, found.start, 1 << 26)
    bound = Path(np.zeros(40, dtype=np.int64), np.zeros(41, dtype=np.int32))
    heuristic = Guess(lambda states: states[:, 0, 0].astype(np.float64))
    for _ in Beams(graph, heuristic).search(bound, width=200_000):
        pass
    best = graph.best()
    assert best is not None
    assert len(best) == shortest(found)


@pytest.mark.parametrize("seed", range(5))
def test_a_graph_knows_its_shortest_paths_whatever_the_order_of_expansion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    world = random_graph(seed, size=200, num_actions=2)
    graph = StateGraph(world, world.grid(0), ENOUGH)
    while len(nodes := np.flatnonzero(~graph.is_expanded(np.arange(graph.num_nodes)))):
        graph.expand(rng.permutation(nodes)[: 1 + len(nodes) // 3].astype(np.int32))
        assert graph.links.steps[: graph.num_nodes].tolist() == naive_distances(graph)
    best = graph.best()
    assert best is not None
    assert world.is_goal(replay(world, world.grid(0), best.actions)[-1:])[0]


def naive_distances(graph: StateGraph) -> list[int]:
    known, layer = {0: 0}, [0]
    while layer:
        expanded = [node for node in layer if graph.is_expanded(np.array([node]))[0]]
        children = {int(child) for node in expanded for child in graph.links.successors[node]}
        children -= known.keys()
        known |= dict.fromkeys(children, known[layer[0]] + 1)
        layer = sorted(children)
    return [known[node] for node in range(graph.num_nodes)]


@pytest.mark.parametrize("guided", [False, True])
def test_work_comes_in_short_slices(guided: bool) -> None:
    """Between two looks at the clock there is little work, so that improvement ends on time."""
    found = wander(domains.create("sliding_tiles", height=4, width=4), 3, 400)
    assert found.domain is not None
    assert found.start is not None
    graph = StateGraph(found.domain, found.start, 1 << 28)
    rows: list[int] = []

    def noise(states: Grids) -> Floats:
        rows.append(len(states))
        return (states[:, :2, :2].sum((1, 2)) % 9).astype(np.float64)

    best = lay_out(graph, found.domain.spec.action_indices(found.plan))
    guides = [Guide(Guess(noise), 16)] if guided else []
    known = graph.num_nodes
    for _ in islice(shortcuts(graph, best, guides), 300):
        assert sum(rows) <= ROWS_PER_SLICE
        assert graph.num_nodes - known <= 4 * graph.chunk
        known = graph.num_nodes
        rows.clear()
    assert known > 50_000


def test_improvement_begins_with_the_plan_that_the_domain_tidies() -> None:
    domain = domains.create("tsp", size=15, cities=12)
    start = domain.sample(np.random.default_rng(1), 1)[0]
    rng = np.random.default_rng(2)
    names = domain.spec.action_names(domain.expert(start, rng, quality=0.0))
    found = Result(Outcome.SOLVED, names, start=start, domain=domain)
    good = len(domain.expert(start, rng))
    seen: list[Result] = []

    def enough(result: Result) -> None:
        seen.append(result)
        if len(result.plan) <= 1.1 * good:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Improvement(found).run(LONG, enough)
    assert len(found.plan) > 1.5 * good
    assert len(seen) <= 2
    assert domain.is_goal(seen[-1].states[-1:])[0]


class Astray(TinyTiles):
    """A domain that tidies plans into actions that lead nowhere."""

    def tidy(self, state: Grid, actions: Actions) -> Actions:
        return actions[:1]


def test_a_wrongly_tidied_plan_is_no_plan() -> None:
    found = wander(Astray(), 1, 60)
    better = Improvement(found).run(LONG)
    assert len(better.plan) == shortest(found)
    actions = DOMAIN.spec.action_indices(better.plan)
    assert DOMAIN.is_goal(replay(DOMAIN, np.asarray(found.start), actions)[-1:])[0]
