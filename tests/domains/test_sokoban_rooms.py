"""Rooms drawn by people: files with titles and faults, large rooms, dead ends, macros, variety."""

from __future__ import annotations

import numpy as np
import pytest

from hips.domains import Domain, check_domain, create, replay
from hips.domains.breadth_first import BreadthFirst
from hips.domains.records import Level
from hips.errors import ConfigError, LevelError
from hips.seeding import stream

COLLECTION = """\
My levels
=========

Level 1

#####
#@$.#
#####
Author: somebody

; The second

######
#@ $.#
######
Title: Two steps
Comment: not
the title of the next

#####
#@$?#
#####

#######
#@ $ .#
#######
"""


@pytest.fixture(scope="module")
def sokoban() -> Domain:
    return create("sokoban")


def test_titles_and_faults_of_a_collection(sokoban: Domain) -> None:
    found = list(sokoban.read(COLLECTION.splitlines()))
    titles = [one.title for one in found if isinstance(one, Level)]
    assert titles == ["Level 1", "Two steps", ""]
    assert isinstance(found[2], LevelError)
    assert (found[2].line, found[2].column) == (21, 4)


def test_pddl_is_refused_by_name(sokoban: Domain) -> None:
    text = sokoban.export(list(sokoban.sample(stream(0, "pddl"), 1)), "pddl")
    (error,) = sokoban.read(text.splitlines())
    assert isinstance(error, LevelError)
    assert "does not read" in error.reason


def test_a_room_of_64_with_many_boxes_is_read_stepped_and_judged(sokoban: Domain) -> None:
    boxes, free = "# " + "$." * 30 + "#", "#" + " " * 61 + "#"
    text = "\n".join(["#" * 63, "#@" + " " * 60 + "#", boxes, free, "#" * 63])
    level = sokoban.parse(text)
    domain = sokoban.for_grid(level)
    assert domain.spec.shape == (5, 63)
    assert len(replay(domain, level, np.array([1, 2, 1]))) == 4
    estimate = domain.estimate(level[None])
    assert estimate is not None
    assert np.isfinite(estimate).all()
    assert not domain.is_dead(level[None])[0]
    with pytest.raises(LevelError, match="65 columns"):
        sokoban.parse("\n".join(["#" * 65, "#@$." + " " * 60 + "#", "#" * 65]))
    with pytest.raises(ConfigError, match="allowed: 3 to 64"):
        create("sokoban", height=65)


def _solvable(domain: Domain, start: np.ndarray) -> dict[bytes, bool]:
    """Which states reachable from `start` can be solved, by exhaustive search."""
    search = BreadthFirst(domain, start)
    states = {start.tobytes(): start}
    while len(search.layer):
        search.advance()
        states.update((state.tobytes(), state) for state in search.layer)
    grids = np.stack(list(states.values()))
    followers = [domain.step(grids, np.full(len(grids), action)) for action in range(4)]
    solvable = {key: bool(goal) for key, goal in zip(states, domain.is_goal(grids), strict=True)}
    changed = True
    while changed:
        changed = False
        for i, key in enumerate(states):
            if not solvable[key] and any(solvable[after[i].tobytes()] for after in followers):
                solvable[key] = changed = True
    return solvable


@pytest.mark.parametrize("seed", range(6))
def test_dead_ends_are_never_solvable(seed: int) -> None:
    domain = create("sokoban", height=6, width=6, boxes=2, style="varied")
    start = domain.sample(stream(seed, "dead ends"), 1)[0]
    solvable = _solvable(domain, start)
    grids = np.stack([np.frombuffer(key, dtype=np.uint8).reshape(6, 6) for key in solvable])
    dead = domain.is_dead(grids)
    alive = np.array(list(solvable.values()))
    assert not (dead & alive).any()
    if (~alive).any():
        assert dead.any()


def test_macros_are_walks_with_one_push_and_plans_are_tidied(sokoban: Domain) -> None:
    starts = sokoban.sample(stream(4, "macros"), 5)
    macros = sokoban.macros(starts)
    assert macros is not None
    assert len(macros.parents)
    for i, parent in enumerate(macros.parents):
        plan = macros.actions[i, : macros.lengths[i]].astype(np.int64)
        assert np.array_equal(replay(sokoban, starts[parent], plan)[-1], macros.states[i])
    plan = sokoban.expert(starts[0], stream(0, "expert"))
    detour = np.concatenate([[a, (a + 2) % 4, a] if i == 0 else [a] for i, a in enumerate(plan)])
    if not np.isin(replay(sokoban, starts[0], plan[:1])[1] - starts[0], (2,)).any():
        assert len(sokoban.tidy(starts[0], detour)) <= len(plan)


def test_varied_rooms_keep_the_contract_and_vary() -> None:
    domain = create("sokoban", "varied")
    check_domain(domain, count=3)
    rooms = domain.sample(stream(1, "varied"), 40)
    boxes = np.isin(rooms, (3, 4)).sum(axis=(1, 2))
    assert boxes.min() == 1
    assert boxes.max() >= 6
    with pytest.raises(ConfigError, match="published, varied"):
        create("sokoban", style="baroque")


@pytest.mark.parametrize(("seed", "boxes"), [(0, 2), (1, 2), (2, 3), (3, 3)])
def test_pushes_that_come_first_lose_no_plan(seed: int, boxes: int) -> None:
    """Macros solve exactly the states that single actions solve."""
    domain = create("sokoban", height=6, width=6, boxes=boxes, style="varied")
    solvable = _solvable(domain, domain.sample(stream(seed, "areas"), 1)[0])
    place = {key: index for index, key in enumerate(solvable)}
    grids = np.stack([np.frombuffer(key, dtype=np.uint8).reshape(6, 6) for key in solvable])
    macros = domain.macros(grids)
    assert macros is not None
    ends = np.array([place[state.tobytes()] for state in macros.states])
    reaching = domain.is_goal(grids)
    while True:
        wider = reaching.copy()
        np.logical_or.at(wider, macros.parents, reaching[ends])
        if (wider == reaching).all():
            break
        reaching = wider
    assert (reaching == np.array(list(solvable.values()))).all()


def test_pushes_into_a_closed_area_come_first() -> None:
    room = create("sokoban", height=5, width=9, boxes=2)
    start = room.parse("#########\n#.$ @   #\n#### $ .#\n#########\n#########")
    macros = room.macros(start[None])
    assert macros is not None
    assert macros.lengths.tolist() == [2]  # only the left box, which guards a free goal
