"""The Sokoban expert solves what can be solved, proves the rest, and wanders on demand."""

from __future__ import annotations

import numpy as np
import pytest

from hips.domains import Domain, Grid, create, replay
from hips.domains.sokoban import expert as expert_module
from hips.domains.sokoban.board import FAR, is_frozen, pushes_needed, read_board
from hips.domains.sokoban.search import OUT_OF_NODES, SOLVED, UNSOLVABLE, moves_of_pushes, search
from hips.errors import ExpertError, UnsolvableError
from hips.seeding import stream
from tests.domains.reference import enumerate_states, goal_distances
from tests.domains.test_sokoban import SMALL, naive_step

UNSOLVABLE_ROOM = "######\n#$ @.#\n#    #\n######"


@pytest.fixture(scope="module")
def sokoban() -> Domain:
    return create("sokoban")


@pytest.fixture(scope="module")
def small_room() -> tuple[Domain, np.ndarray, dict[bytes, int]]:
    """A room with all its states and the fewest moves from each that can be solved."""
    domain = create("sokoban", height=5, width=7, boxes=2)
    states = enumerate_states(domain, domain.parse(SMALL), naive_step)
    return domain, states, goal_distances(domain, states)


def solves(domain: Domain, state: Grid, actions: np.ndarray) -> bool:
    """Whether the plan ends in the first goal state it meets."""
    goals = domain.is_goal(replay(domain, state, actions))
    return bool(goals[-1]) and int(goals.sum()) == 1


@pytest.mark.parametrize(
    "size", [(3, 5, 1), (6, 6, 3), (7, 12, 2), (10, 10, 4), (10, 10, 6), (12, 12, 8)]
)
def test_plans_solve_generated_rooms(size: tuple[int, int, int]) -> None:
    height, width, boxes = size
    domain = create("sokoban", height=height, width=width, boxes=boxes)
    rng = stream(0, "expert test")
    for room in domain.sample(rng, 6):
        assert solves(domain, room, domain.expert(room, rng))


@pytest.mark.parametrize("exact", [True, False])
def test_search_is_right_about_every_state(
    small_room: tuple[Domain, np.ndarray, dict[bytes, int]], exact: bool
) -> None:
    domain, states, distances = small_room
    lengths, shortest = 0, 0
    for state in states[::3]:
        board, boxes, player = read_board(state)
        outcome, pushes = search(board, boxes, player, 3, exact, 1 << 14)
        best = distances.get(state.tobytes())
        assert outcome == (UNSOLVABLE if best is None else SOLVED)
        if best is not None:
            plan = moves_of_pushes(board, boxes, player, pushes)
            assert solves(domain, state, plan)
            lengths, shortest = lengths + len(plan), shortest + best
    assert shortest <= lengths <= (1.05 if exact else 2.0) * shortest


def test_weight_two_is_optimal(small_room: tuple[Domain, np.ndarray, dict[bytes, int]]) -> None:
    _, states, distances = small_room
    for state in states[::7]:
        board, boxes, player = read_board(state)
        outcome, pushes = search(board, boxes, player, 2, True, 1 << 14)
        if outcome == SOLVED:
            plan = moves_of_pushes(board, boxes, player, pushes)
            assert len(plan) == distances[state.tobytes()]


def test_deadlock_tests_never_condemn_a_solvable_state(
    small_room: tuple[Domain, np.ndarray, dict[bytes, int]],
) -> None:
    _, states, distances = small_room
    condemned = 0
    for state in states:
        board, boxes, _ = read_board(state)
        bound = pushes_needed(board, boxes)
        frozen = is_frozen(board, boxes, np.zeros(board.walls.size, dtype=np.bool_))
        condemned += frozen or bound >= FAR
        if state.tobytes() in distances:
            assert not frozen
            assert bound <= distances[state.tobytes()]
    assert condemned > 0


@pytest.mark.parametrize(
    ("level", "frozen"),
    [
        ("#######\n#     #\n# $$  #\n# $$  #\n#@....#\n#######", True),
        ("#######\n#     #\n# **  #\n# **  #\n#@    #\n#######", False),
        ("#######\n# $$  #\n#     #\n#@..  #\n#######", True),
        ("#######\n#.$ $.#\n#@    #\n#######", False),
    ],
)
def test_frozen_boxes(sokoban: Domain, level: str, frozen: bool) -> None:
    board, boxes, _ = read_board(sokoban.parse(level))
    assert is_frozen(board, boxes, np.zeros(board.walls.size, dtype=np.bool_)) == frozen


def test_unsolvable_levels_are_proved_so(sokoban: Domain) -> None:
    with pytest.raises(UnsolvableError, match="no solution"):
        sokoban.expert(sokoban.parse(UNSOLVABLE_ROOM), stream(0, "unsolvable"))


def test_running_out_of_nodes_is_not_a_proof(
    sokoban: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = sokoban.sample(stream(0, "nodes"), 1)[0]
    board, boxes, player = read_board(room)
    assert search(board, boxes, player, 3, True, 40)[0] == OUT_OF_NODES
    monkeypatch.setattr(expert_module, "ATTEMPTS", ((3, True, 40),))
    with pytest.raises(ExpertError, match="may still have") as caught:
        sokoban.expert(room, stream(0, "nodes"))
    assert not isinstance(caught.value, UnsolvableError)


def test_a_solved_level_needs_no_move(sokoban: Domain) -> None:
    solved = sokoban.parse("#####\n#@* #\n#####")
    for quality in (0.0, 1.0):
        assert len(sokoban.expert(solved, stream(0, "solved"), quality)) == 0


def test_a_grid_that_is_no_state_is_refused(sokoban: Domain) -> None:
    with pytest.raises(ExpertError, match="player"):
        sokoban.expert(np.ones((10, 10), dtype=np.uint8), stream(0, "no state"))


def test_quality_decides_how_far_plans_wander(sokoban: Domain) -> None:
    rooms = sokoban.sample(stream(2, "quality"), 30)
    means = []
    for quality in (1.0, 0.5, 0.0):
        plans = [sokoban.expert(room, stream(i, "expert"), quality) for i, room in enumerate(rooms)]
        assert all(solves(sokoban, room, plan) for room, plan in zip(rooms, plans, strict=True))
        means.append(np.mean([len(plan) for plan in plans]))
    assert 1.2 * means[0] < means[1] < means[2]
    assert 2.0 * means[0] < means[2] < 3.5 * means[0]


def test_the_same_seed_gives_the_same_plan(sokoban: Domain) -> None:
    room = sokoban.sample(stream(4, "seeded"), 1)[0]
    first, second, other = (sokoban.expert(room, stream(seed, "plan"), 0.0) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert first.tolist() != other.tolist()
