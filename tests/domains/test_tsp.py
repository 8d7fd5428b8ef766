"""The rules of the travelling salesman, against a naive reference and by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Grid, Grids, create, names, replay
from hips.domains.tsp import TravellingSalesman
from hips.errors import ConfigError, LevelError
from hips.seeding import stream
from tests.domains.reference import compare_on_walks, enumerate_states

MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
FLOOR, CITY, VISITED, START, AGENT = 0, 1, 2, 3, 4

MAP = """
A.o
...
.o.
"""


def naive_step(state: Grid, action: str) -> Grid:
    """The rules, from sets of cells."""
    cells = {(r, c): int(state[r, c]) for r in range(len(state)) for c in range(len(state))}
    agent = next(cell for cell, symbol in cells.items() if symbol >= AGENT)
    target = (agent[0] + MOVES[action][0], agent[1] + MOVES[action][1])
    if target in cells:
        cells[agent] -= AGENT
        cells[target] = AGENT + (VISITED if cells[target] == CITY else cells[target])
    return np.array(list(cells.values()), dtype=np.uint8).reshape(state.shape)


def naive_is_goal(state: Grid) -> bool:
    symbols = state.ravel().tolist()
    return AGENT + START in symbols and CITY not in symbols


def legal_states(start: Grid) -> Grids:
    """Every grid with the map of `start`: any set of visits, the agent anywhere."""
    ground = start % AGENT
    cities = np.argwhere(ground == CITY)
    grids = []
    for visits in product([False, True], repeat=len(cities)):
        for agent in np.ndindex(*start.shape):
            grid = ground.copy()
            for (row, column), visited in zip(cities, visits, strict=True):
                grid[row, column] = VISITED if visited else CITY
            if grid[agent] != CITY:
                grid[agent] += AGENT
                grids.append(grid)
    return np.stack(grids)


def same_origin(start: Grid, states: Grids) -> Grids:
    return np.repeat(start[None], len(states), axis=0)


def test_is_registered_with_the_papers_size() -> None:
    assert "tsp" in names()
    domain = create("tsp")
    assert domain.spec.shape == (25, 25)
    assert domain.parameters() == {"size": 25, "cities": 25}
    assert domain.spec.symbols[5] == "agent_on_city"


@settings(max_examples=20, deadline=None)
@given(size=st.integers(3, 9), seed=st.integers(0, 2**32), data=st.data())
def test_kernels_agree_with_the_reference_on_walks(
    size: int, seed: int, data: st.DataObject
) -> None:
    cities = data.draw(st.integers(1, size**2 - 1))
    compare_on_walks(TravellingSalesman(size, cities), naive_step, naive_is_goal, seed, length=40)


def test_a_small_world_in_full() -> None:
    domain = TravellingSalesman(3, 2)
    start = domain.parse(MAP)
    reachable = enumerate_states(domain, start, naive_step)
    legal = {state.tobytes() for state in legal_states(start)}
    # The agent steps off the start first, so "all unvisited, agent at home" is reachable too.
    assert {state.tobytes() for state in reachable} == legal
    assert domain.is_legal(reachable, same_origin(start, reachable)).all()
    solved = reachable[domain.is_goal(reachable)]
    assert [domain.text(state) for state in solved] == ["A.x\n...\n.x."]


def test_legal_means_the_same_map_one_agent_and_no_visit_undone() -> None:
    domain = TravellingSalesman(3, 2)
    origin = domain.parse("S.o\n.a.\n.x.")

    def legal(text: str) -> bool:
        rows = [[".oxSaOXA".index(glyph) for glyph in row] for row in text.split("\n")]
        return bool(domain.is_legal(np.array([rows], dtype=np.uint8), origin[None])[0])

    assert legal("S.o\n.a.\n.x.")
    assert legal("S.X\n...\n.x.")
    assert legal("A.x\n...\n.x.")
    assert not legal("S.o\n.a.\n.o.")  # a visit undone
    assert not legal("S.o\n.a.\n.xx")  # a city from nowhere
    assert not legal("S..\n.a.\n.x.")  # a city lost
    assert not legal(".So\n.a.\n.x.")  # the start moved
    assert not legal("S.o\n...\n.x.")  # no agent
    assert not legal("A.o\n.a.\n.x.")  # two agents
    assert not legal("S.O\n...\n.x.")  # on a city that is not visited
    assert not domain.is_legal(np.full((1, 3, 3), 9, dtype=np.uint8), origin[None])[0]


def test_decoding_finds_the_best_legal_grid() -> None:
    domain = TravellingSalesman(3, 2)
    origin = domain.parse(MAP)
    legal = legal_states(origin)
    rows, columns = np.indices((3, 3))
    rng = stream(0, "decode")
    for _ in range(100):
        scores = rng.normal(size=(3, 3, 8)).astype(np.float32)
        totals = scores[rows, columns, legal].sum(axis=(1, 2))
        decoded = domain.decode(scores[None], origin[None])
        np.testing.assert_array_equal(decoded[0], legal[totals.argmax()])


def test_decoding_survives_scores_that_are_not_numbers() -> None:
    domain = TravellingSalesman(5, 6)
    origins = domain.sample(stream(0, "nan"), 3)
    scores = np.full((3, 5, 5, 8), np.nan, dtype=np.float32)
    assert domain.is_legal(domain.decode(scores, origins), origins).all()


def test_samples_have_the_cities_they_should() -> None:
    domain = TravellingSalesman(6, 35)
    states = domain.sample(stream(0, "full"), 20)
    assert ((states == CITY).sum(axis=(1, 2)) == 35).all()
    assert ((states == AGENT + START).sum(axis=(1, 2)) == 1).all()


def test_symmetries_are_the_other_seven() -> None:
    domain = TravellingSalesman(4, 3)
    state = domain.sample(stream(1, "turn"), 1)
    images = {symmetry.transform(state).tobytes() for symmetry in domain.symmetries()}
    assert len(images | {state.tobytes()}) == 8
    for symmetry in domain.symmetries():
        for action in range(4):
            moved = domain.step(state, np.array([action]))
            image = domain.step(symmetry.transform(state), np.array([symmetry.actions[action]]))
            np.testing.assert_array_equal(image, symmetry.transform(moved))


@pytest.mark.parametrize(
    "parameters",
    [{"size": 2}, {"size": 41}, {"cities": 0}, {"cities": 1_000_000}, {"size": 3, "cities": 9}],
)
def test_other_sizes_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="tsp: "):
        TravellingSalesman(**parameters)


def test_a_level_brings_its_own_size() -> None:
    domain = TravellingSalesman()
    small = domain.parse(MAP)
    assert domain.for_grid(small) == TravellingSalesman(3, 2)
    assert TravellingSalesman(3, 8).for_grid(small) == TravellingSalesman(3, 8)
    with pytest.raises(LevelError):
        domain.for_grid(np.zeros((3, 4), dtype=np.uint8))


def test_pictures_have_the_promised_shape_and_show_what_happens() -> None:
    domain = TravellingSalesman(3, 2)
    states = replay(domain, domain.parse(MAP), domain.spec.action_indices(["right", "right"]))
    pictures = [domain.render(state, cell=20) for state in states]
    assert pictures[0].shape == (60, 60, 3)
    assert pictures[0].dtype == np.uint8
    assert not np.array_equal(pictures[0], pictures[1])
    assert not np.array_equal(pictures[1], pictures[2])
