"""Box-World's rules, against a naive reference and by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Grid, replay
from hips.domains.box_world import BoxWorld
from hips.domains.box_world.kernels import AGENT, FLOOR, GEM, WALL
from hips.errors import ConfigError
from hips.seeding import stream
from tests.domains.reference import compare_on_walks, enumerate_states

MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
SMALL = BoxWorld(size=6, goal_length=3, distractors=1, colours=6)

LEVEL = """
########
#......#
#.a@.bA#
#......#
#.cA...#
#....$B#
#......#
########
"""


def naive_step(state: Grid, action: str) -> Grid:
    """The rules, from a dictionary of cells and a list of boxes."""
    cells = {(r, c): int(state[r, c]) for r in range(len(state)) for c in range(len(state[0]))}
    inner = [cell for cell in cells if 0 not in cell and max(cell) < len(state) - 1]
    treasures = [cell for cell in inner if cells[cell] >= GEM]
    boxes = {(r, c): (r, c - 1) for r, c in treasures if (r, c - 1) in treasures}
    agent = next(cell for cell in inner if cells[cell] == AGENT)
    target = (agent[0] + MOVES[action][0], agent[1] + MOVES[action][1])
    held = cells[0, 0]
    if held == GEM or cells[target] == WALL or target in boxes.values():
        return state
    if target in boxes:
        if cells[target] != held:
            return state
        cells[0, 0] = cells[boxes[target]]
        cells[boxes[target]] = FLOOR
    elif target in treasures:
        cells[0, 0] = cells[target]
    cells[agent], cells[target] = FLOOR, AGENT
    return np.array(list(cells.values()), dtype=np.uint8).reshape(state.shape)


def naive_is_goal(state: Grid) -> bool:
    return GEM not in state[1:, 1:]


def play(domain: BoxWorld, level: str, *actions: str) -> Grid:
    return replay(domain, domain.parse(level), domain.spec.action_indices(actions))[-1]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(6, 9))
def test_kernels_agree_with_the_reference_on_walks(seed: int, size: int) -> None:
    domain = BoxWorld(size=size, goal_length=3, distractors=1, colours=6)
    compare_on_walks(domain, naive_step, naive_is_goal, seed)


@pytest.mark.parametrize("seed", range(3))
def test_kernels_agree_with_the_reference_on_all_reachable_states(seed: int) -> None:
    start = SMALL.sample(stream(seed, "levels"), 1)[0]
    states = enumerate_states(SMALL, start, naive_step)
    assert SMALL.is_goal(states).any()
    assert SMALL.is_goal(states).tolist() == [naive_is_goal(state) for state in states]


def test_a_plan_by_hand() -> None:
    domain = BoxWorld(size=6, colours=8)
    assert domain.text(play(domain, LEVEL, "left"))[0] == "a"
    opened = play(domain, LEVEL, "left", *["up"], *["right"] * 4, "down")
    assert domain.text(opened).splitlines()[:3] == ["b#######", "#......#", "#.....@#"]
    assert not domain.is_goal(opened[None])[0]
    won = play(domain, LEVEL, "left", "up", *["right"] * 4, *["down"] * 4)
    assert domain.is_goal(won[None])[0]
    assert domain.text(won)[0] == "$"
    everywhere = domain.step(np.repeat(won[None], 4, axis=0), np.arange(4))
    assert (everywhere == won).all()


def test_a_lock_stays_shut_without_its_key() -> None:
    domain = BoxWorld(size=6, colours=8)
    before = play(domain, LEVEL, "up", "right", "right", "right")
    after = domain.step(before[None], domain.spec.action_indices(["down"]))[0]
    np.testing.assert_array_equal(after, before)


def test_the_content_of_a_locked_box_cannot_be_entered() -> None:
    domain = BoxWorld(size=6, colours=8)
    before = play(domain, LEVEL, "left", "right", "right")
    after = domain.step(before[None], domain.spec.action_indices(["right"]))[0]
    np.testing.assert_array_equal(after, before)


def test_a_wrong_branch_uses_up_the_key() -> None:
    domain = BoxWorld(size=6, colours=8)
    dead = play(domain, LEVEL, "left", "down", "down", "right", "left")
    assert domain.text(dead)[0] == "a"
    dead = play(domain, LEVEL, "left", "right", "down", "down")
    assert domain.text(dead)[0] == "c"


def test_reachable_states_are_legal_and_others_are_not() -> None:
    start = SMALL.sample(stream(0, "levels"), 1)[0]
    states = enumerate_states(SMALL, start, naive_step)
    assert SMALL.is_legal(states, np.repeat(start[None], len(states), axis=0)).all()
    # Backwards in time: a state that took something cannot become the start again.
    took = states[states[:, 0, 0] != start[0, 0]]
    assert not SMALL.is_legal(np.repeat(start[None], len(took), axis=0), took).any()


@pytest.mark.parametrize(
    ("row", "column", "symbol"),
    [(0, 0, GEM), (0, 0, 5), (3, 3, AGENT), (2, 3, FLOOR), (0, 4, FLOOR), (2, 6, FLOOR), (1, 1, 9)],
    ids=["gem_from_nowhere", "key_from_nowhere", "two", "no_agent", "wall", "half_box", "added"],
)
def test_illegal_grids(row: int, column: int, symbol: int) -> None:
    domain = BoxWorld(size=6, colours=8)
    origin = domain.parse(LEVEL)
    state = origin.copy()
    state[row, column] = symbol
    assert domain.is_legal(origin[None], origin[None])[0]
    assert not domain.is_legal(state[None], origin[None])[0]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), ahead=st.integers(1, 12))
def test_decode_recovers_a_later_state_from_noisy_scores(seed: int, ahead: int) -> None:
    domain = BoxWorld(size=8, goal_length=3, distractors=2)
    rng = stream(seed, "decode")
    start = domain.sample(rng, 1)[0]
    states = replay(domain, start, domain.expert(start, rng, 0.5))
    later = np.minimum(np.arange(len(states)) + ahead, len(states) - 1)
    scores = 6.0 * np.eye(domain.spec.num_symbols)[states[later]]
    scores = (scores + rng.uniform(-1.0, 1.0, size=scores.shape)).astype(np.float32)
    np.testing.assert_array_equal(domain.decode(scores, states), states[later])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_decode_keeps_walls_and_one_agent_whatever_the_scores(seed: int) -> None:
    rng = stream(seed, "noise")
    origins = SMALL.sample(rng, 5)
    scores = rng.standard_normal((*origins.shape, SMALL.spec.num_symbols)).astype(np.float32)
    decoded = SMALL.decode(scores, origins)
    np.testing.assert_array_equal(decoded[:, 1:] == WALL, origins[:, 1:] == WALL)
    assert ((decoded == AGENT).sum(axis=(1, 2)) == 1).all()
    kept = (decoded[:, 1:, 1:] == origins[:, 1:, 1:]) | (decoded[:, 1:, 1:] < GEM)
    assert kept.all()


def boxes_of(state: Grid) -> tuple[np.ndarray, np.ndarray, int]:
    """Locks, contents and the loose key of a level."""
    treasure = state >= GEM
    locks = np.argwhere(treasure[:, 1:] & treasure[:, :-1]) + np.array([0, 1])
    used = {(r, c - i) for r, c in locks.tolist() for i in (0, 1)}
    (loose,) = (tuple(cell) for cell in np.argwhere(treasure).tolist() if tuple(cell) not in used)
    contents = [int(state[r, c - 1]) for r, c in locks]
    return np.array([int(state[r, c]) for r, c in locks]), np.array(contents), int(state[loose])


def solutions(
    locks: np.ndarray, contents: np.ndarray, key: int, opened: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Every order of opening boxes with the keys they give that ends with the gem."""
    for box in np.flatnonzero(locks == key).tolist():
        if box in opened:
            continue
        if contents[box] == GEM:
            yield (*opened, box)
        else:
            yield from solutions(locks, contents, int(contents[box]), (*opened, box))


@pytest.mark.parametrize("variant", ["default", "ood"])
def test_levels_have_exactly_one_solution_chain(variant: str) -> None:
    domain = BoxWorld(**BoxWorld.variants.get(variant, {}))
    for state in domain.sample(stream(0, "chain"), 200):
        locks, contents, key = boxes_of(state)
        boxes = domain.goal_length - 1 + domain.distractors * domain.distractor_length
        assert len(locks) == boxes == domain.boxes
        assert [len(way) for way in solutions(locks, contents, key)] == [domain.goal_length - 1]


def test_branches_use_no_colour_of_the_chain_but_their_first_lock() -> None:
    domain = BoxWorld(**BoxWorld.variants["ood"])
    for state in domain.sample(stream(2, "colours"), 100):
        locks, contents, key = boxes_of(state)
        (chain,) = solutions(locks, contents, key)
        others = np.setdiff1d(np.arange(len(locks)), chain)
        assert not np.isin(contents[others], locks[list(chain)]).any()
        roots = np.isin(locks[others], locks[list(chain)])
        assert roots.sum() == domain.distractors


def test_out_of_distribution_dead_ends_are_longer_and_look_alive() -> None:
    def share_of_keys_with_a_lock(domain: BoxWorld) -> float:
        shares = []
        for state in domain.sample(stream(1, "ood"), 100):
            locks, contents, _ = boxes_of(state)
            shares.append(np.isin(contents[contents != GEM], locks).mean())
        return float(np.mean(shares))

    ood = BoxWorld(**BoxWorld.variants["ood"])
    assert share_of_keys_with_a_lock(ood) > share_of_keys_with_a_lock(BoxWorld()) + 0.2


def test_levels_do_not_depend_on_how_many_are_drawn() -> None:
    domain = BoxWorld()
    few, many = (domain.sample(stream(5, "draw"), count) for count in (3, 9))
    np.testing.assert_array_equal(few, many[:3])


@pytest.mark.parametrize(
    "parameters",
    [
        {"size": 3},
        {"size": 31},
        {"goal_length": 1},
        {"distractors": -1},
        {"distractor_length": 0},
        {"colours": 3},
        {"colours": 27},
        {"goal_length": 40, "distractors": 40},
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        BoxWorld(**parameters)


def test_too_many_boxes_for_the_room() -> None:
    with pytest.raises(ConfigError, match="do not fit"):
        BoxWorld(size=4).sample(stream(0, "room"), 1)
