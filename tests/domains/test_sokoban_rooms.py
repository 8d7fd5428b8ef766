"""Rooms drawn by people: files with titles and faults, large rooms, dead ends, macros, variety."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hips.arrays import Grid, Grids
from hips.domains import Domain, check_domain, create, replay
from hips.domains.breadth_first import BreadthFirst
from hips.domains.records import Level
from hips.domains.sokoban.kernels import BOX, FLOOR, GOAL, PLAYER, WALL
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


def test_pushes_that_come_first_lose_no_plan() -> None:
    """Small random rooms are solved by macros alone if and only if they can be solved at all."""
    rng = stream(6, "areas")
    room = create("sokoban", height=6, width=7, boxes=3)
    found = [_by_steps_and_by_macros(room, _scattered(rng, 3)) for _ in range(15)]
    assert all(by_steps == by_macros for by_steps, by_macros in found)
    assert {by_steps for by_steps, _ in found} == {True, False}


def test_pushes_into_a_closed_area_come_first() -> None:
    room = create("sokoban", height=5, width=9, boxes=2)
    start = room.parse("#########\n#.$ @   #\n#### $ .#\n#########\n#########")
    macros = room.macros(start[None])
    assert macros is not None
    assert macros.lengths.tolist() == [2]  # only the left box, which guards a free goal


def _scattered(rng: np.random.Generator, boxes: int) -> Grid:
    """A walled room with a few inner walls, boxes, goals and a player anywhere."""
    grid = np.full((6, 7), WALL, dtype=np.uint8)
    grid[1:-1, 1:-1] = FLOOR
    cells = rng.permutation([(r, c) for r in range(1, 5) for c in range(1, 6)])
    for row, column in cells[:4]:
        grid[row, column] = WALL
    for row, column in cells[4 : 4 + boxes]:
        grid[row, column] = BOX
    for row, column in cells[4 + boxes : 4 + 2 * boxes]:
        grid[row, column] = GOAL
    grid[tuple(cells[4 + 2 * boxes])] = PLAYER
    return grid


def _by_steps_and_by_macros(domain: Domain, start: Grid) -> tuple[bool, bool]:
    """Whether single actions reach a goal, and whether macros do, by exhaustion."""

    def by_steps(states: Grids) -> Grids:
        return np.concatenate(
            [domain.step(states, np.full(len(states), action)) for action in range(4)]
        )

    def by_macros(states: Grids) -> Grids:
        macros = domain.macros(states)
        assert macros is not None
        return macros.states

    return _reaches_goal(domain, start, by_steps), _reaches_goal(domain, start, by_macros)


def _reaches_goal(domain: Domain, start: Grid, successors: Callable[[Grids], Grids]) -> bool:
    seen, new = {start.tobytes()}, start[None]
    while len(new):
        if domain.is_goal(new).any():
            return True
        fresh = {one.tobytes(): one for one in successors(new)}
        new = np.array([one for key, one in fresh.items() if key not in seen])
        seen |= fresh.keys()
    return False
