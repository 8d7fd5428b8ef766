from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips import domains
from hips.data.dataset import Trajectories, replay_plans, to_offsets
from hips.domains import Domain, replay
from hips.models.bundle import Bundle
from hips.models.card import Card, describe_spec
from hips.models.runtime import GraphRuntime
from hips.seeding import stream
from hips.training import scoring, segments
from hips.training.segments import event_following, follow_chain, irreversible_steps
from tests.planner.worlds import random_graph

ROOM = """
#########
#       #
#@$.  $.#
#       #
#########
"""
CORRIDOR = """
#########
#@ $  . #
#########
"""
MAP = """
A.o
...
o..
"""


def walk(domain: Domain, *plans: tuple[str, str]) -> Trajectories:
    """What happens in levels, given as text, when the actions (their names) are taken."""
    starts = np.stack([domain.parse(level) for level, _ in plans])
    names = domain.spec.actions
    lists = [[names.index(name) for name in actions.split()] for _, actions in plans]
    taken = np.array([action for actions in lists for action in actions], dtype=np.uint8)
    return replay_plans(domain, starts, taken, to_offsets(np.array([len(a) for a in lists])))


def random_walks(domain: Domain, seed: int, lengths: list[int]) -> Trajectories:
    rng = stream(seed, "walks", domain.name)
    starts = domain.sample(rng, len(lengths))
    taken = rng.integers(domain.spec.num_actions, size=sum(lengths)).astype(np.uint8)
    return replay_plans(domain, starts, taken, to_offsets(np.array(lengths)))


def slow_irreversible(domain: Domain, data: Trajectories) -> list[bool]:
    """One state and one action at a time."""
    found = []
    for first, stop in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        for t in range(first, stop - 1):
            after = data.states[t + 1]
            back = [
                domain.step(after[None], np.array([action]))[0]
                for action in range(domain.spec.num_actions)
            ]
            found.append(not any((state == data.states[t]).all() for state in back))
        found.append(False)
    return found


def slow_following(lasting: list[bool], offsets: np.ndarray, horizon: int, ahead: int) -> list[int]:
    """Looks ahead from every state for the event in question."""
    found = []
    for first, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        last = stop - 1
        for position in range(first, stop):
            seen, chosen = 0, last
            for t in range(position + 1, stop):
                if t == last or (lasting[t - 1] and not lasting[t]):
                    seen += 1
                if seen == ahead:
                    chosen = t
                    break
            found.append(min(chosen, position + horizon, last))
    return found


def test_pushes_are_events_and_walks_are_not() -> None:
    sokoban = domains.create("sokoban", height=5, width=9, boxes=2)
    data = walk(sokoban, (ROOM, "right up right right right down right"))
    lasting = irreversible_steps(sokoban, data.states, data.offsets)
    assert lasting.tolist() == [True, False, False, False, False, False, True, False]

    def following(horizon: int, ahead: int) -> list[int]:
        found = event_following(sokoban, data.states, data.offsets, horizon, ahead)
        return [int(position) for position in found]

    assert following(10, 1) == [1, 7, 7, 7, 7, 7, 7, 7]
    assert following(4, 1) == [1, 5, 6, 7, 7, 7, 7, 7]
    assert following(10, 2) == [7, 7, 7, 7, 7, 7, 7, 7]
    assert following(4, 2) == [4, 5, 6, 7, 7, 7, 7, 7]
    assert following(1, 1) == [1, 2, 3, 4, 5, 6, 7, 7]


def test_a_run_of_pushes_is_one_event_and_a_bump_is_none() -> None:
    sokoban = domains.create("sokoban", height=3, width=9, boxes=1)
    # Into the wall, a step, two pushes, back and forth, and the push onto the goal.
    data = walk(sokoban, (CORRIDOR, "left right right right left right right"))
    lasting = irreversible_steps(sokoban, data.states, data.offsets)
    assert np.flatnonzero(lasting).tolist() == [2, 3, 6]
    following = event_following(sokoban, data.states, data.offsets, 10)
    assert following.tolist() == [4, 4, 4, 4, 7, 7, 7, 7]


def test_the_third_city_is_three_events_on() -> None:
    tsp = domains.create("tsp", size=3, cities=2)
    tour = walk(tsp, (MAP, "right right down down left left up up"))
    assert tsp.is_goal(tour.states[-1:])[0]
    found = [
        event_following(tsp, tour.states, tour.offsets, 30, ahead).tolist() for ahead in (1, 2, 3)
    ]
    assert found == [[2, 2, 6, 6, 6, 6, 8, 8, 8], [6, 6, 8, 8, 8, 8, 8, 8, 8], [8] * 9]


def test_events_of_the_next_trajectory_do_not_count() -> None:
    sokoban = domains.create("sokoban", height=3, width=9, boxes=1)
    data = walk(sokoban, (CORRIDOR, "right left"), (CORRIDOR, "right right"), (CORRIDOR, ""))
    assert data.offsets.tolist() == [0, 3, 6, 7]
    for ahead in (1, 2, 9):
        following = event_following(sokoban, data.states, data.offsets, 10, ahead)
        assert following.tolist() == [2, 2, 2, 5, 5, 5, 6]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 6), st.integers(1, 3))
def test_where_all_can_be_undone_subgoals_are_a_horizon_on(
    lengths: list[int], horizon: int, ahead: int
) -> None:
    tiles = domains.create("sliding_tiles", height=2, width=3)
    data = random_walks(tiles, sum(lengths), lengths)
    assert not irreversible_steps(tiles, data.states, data.offsets).any()
    last = np.repeat(data.offsets[1:] - 1, np.diff(data.offsets))
    expected = np.minimum(np.arange(len(last)) + horizon, last)
    following = event_following(tiles, data.states, data.offsets, horizon, ahead)
    assert following.tolist() == expected.tolist()


@given(
    seed=st.integers(0, 10_000),
    lengths=st.lists(st.integers(0, 14), min_size=1, max_size=4),
    horizon=st.integers(1, 8),
    ahead=st.integers(1, 4),
)
def test_events_are_those_of_a_slow_search(
    seed: int, lengths: list[int], horizon: int, ahead: int
) -> None:
    world = random_graph(seed, size=8)
    data = random_walks(world, seed, lengths)
    lasting = slow_irreversible(world, data)
    assert irreversible_steps(world, data.states, data.offsets).tolist() == lasting
    following = event_following(world, data.states, data.offsets, horizon, ahead)
    assert following.tolist() == slow_following(lasting, data.offsets, horizon, ahead)


@pytest.mark.parametrize("name", ["sokoban", "sliding_tiles", "box_world", "tsp"])
@pytest.mark.parametrize("ahead", [1, 2])
def test_subgoals_lie_ahead_in_every_domain(name: str, ahead: int) -> None:
    domain = domains.create(name)
    data = random_walks(domain, 3, [12, 0, 25])
    lasting = slow_irreversible(domain, data)
    assert irreversible_steps(domain, data.states, data.offsets).tolist() == lasting
    following = event_following(domain, data.states, data.offsets, 6, ahead)
    positions, last = np.arange(len(following)), np.repeat(data.offsets[1:] - 1, [13, 1, 26])
    assert (following[positions < last] > positions[positions < last]).all()
    assert (following[positions == last] == last[positions == last]).all()
    assert (following <= np.minimum(positions + 6, last)).all()
    ends, is_start = follow_chain(following, data.offsets)
    assert (ends[is_start == 1] == following[is_start == 1]).all()
    assert following.tolist() == slow_following(lasting, data.offsets, 6, ahead)


def test_a_model_is_scored_on_the_events_it_was_trained_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tsp = domains.create("tsp", size=3, cities=2)
    tour = walk(tsp, (MAP, "right right down down left left up up"))
    configuration = {
        "horizon": 5,
        "quality": 1.0,
        "segmentation": {"method": "events", "ahead": 2},
    }
    card = Card("tsp", tsp.parameters(), describe_spec(tsp.spec), False, {}, configuration, {}, {})
    monkeypatch.setattr(scoring, "held_out", lambda *unused: tour)
    exam = scoring.prepare(Bundle(Path(), card, tsp), {}, 1, 0)
    assert exam.starts.tolist() == [0, 5]
    assert exam.ends.tolist() == [5, 5, 5, 5, 5, 8, 8, 8, 8]
    assert isinstance(exam.runtime, GraphRuntime)
    pairs = [(len(states), len(subgoals)) for states, subgoals in exam.segments()]
    assert pairs == [(2, 2)]


def test_lasting_steps_are_found_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domains.create("sokoban")
    level = domain.sample(stream(4, "parts"), 1)[0]
    states = replay(domain, level, domain.expert(level, stream(4, "expert")))
    offsets = np.array([0, len(states)])
    whole = segments.irreversible_steps(domain, states, offsets)
    assert 0 < whole.sum() < len(whole)
    for size in (1, 3, len(states) - 1):
        monkeypatch.setattr(segments, "STEPPED_AT_ONCE", size)
        assert (segments.irreversible_steps(domain, states, offsets) == whole).all()
