"""Sokoban's rules, decoding and generator against naive references."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Domain, Grid, create
from hips.errors import ConfigError, LevelError
from hips.seeding import stream
from tests.domains.reference import compare_on_walks, enumerate_states

STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
GLYPHS = "# .$*@+"
SMALL = "#######\n#  .  #\n# $#$ #\n# .@  #\n#######"


def naive_step(state: Grid, action: str) -> Grid:
    """Sets of coordinates instead of symbols, one rule a line."""
    cells = {cell: GLYPHS[symbol] for cell, symbol in np.ndenumerate(state)}
    walls = {cell for cell, glyph in cells.items() if glyph == "#"}
    goals = {cell for cell, glyph in cells.items() if glyph in ".*+"}
    boxes = {cell for cell, glyph in cells.items() if glyph in "$*"}
    (player,) = (cell for cell, glyph in cells.items() if glyph in "@+")
    down, right = STEPS[action]
    to = (player[0] + down, player[1] + right)
    beyond = (to[0] + down, to[1] + right)
    if to in walls or (to in boxes and (beyond in walls or beyond in boxes)):
        return state.copy()
    if to in boxes:
        boxes = boxes - {to} | {beyond}
    after = np.zeros_like(state)
    for cell in cells:
        on_goal = cell in goals
        glyph = "." if on_goal else " "
        glyph = "#" if cell in walls else glyph
        glyph = ("*" if on_goal else "$") if cell in boxes else glyph
        glyph = ("+" if on_goal else "@") if cell == to else glyph
        after[cell] = GLYPHS.index(glyph)
    return after


def naive_goal(state: Grid) -> bool:
    return all(GLYPHS[symbol] != "$" for symbol in state.ravel())


@pytest.fixture(scope="module")
def sokoban() -> Domain:
    return create("sokoban")


@given(seed=st.integers(0, 10**6), size=st.sampled_from([(10, 10, 4), (6, 9, 2), (20, 20, 8)]))
@settings(max_examples=25, deadline=None)
def test_kernels_agree_with_the_reference(seed: int, size: tuple[int, int, int]) -> None:
    height, width, boxes = size
    domain = create("sokoban", height=height, width=width, boxes=boxes)
    compare_on_walks(domain, naive_step, naive_goal, seed, count=3, length=40)


def test_kernels_agree_on_every_state_of_a_small_room() -> None:
    domain = create("sokoban", height=5, width=7, boxes=2)
    start = domain.parse(SMALL)
    states = enumerate_states(domain, start, naive_step)
    assert len(states) > 500
    assert domain.is_goal(states).tolist() == [naive_goal(state) for state in states]
    assert domain.is_goal(states).any()
    assert domain.is_legal(states, np.repeat(start[None], len(states), axis=0)).all()


def test_step_leaves_its_input_and_survives_rubbish(sokoban: Domain) -> None:
    states = stream(0, "rubbish").integers(7, size=(500, 10, 10)).astype(np.uint8)
    before = states.copy()
    for action in range(4):
        sokoban.step(states, np.full(500, action))
    np.testing.assert_array_equal(states, before)
    empty = np.full((1, 10, 10), 1, dtype=np.uint8)
    np.testing.assert_array_equal(sokoban.step(empty, np.array([0])), empty)
    corner = empty.copy()
    corner[0, 0, 0] = 5
    np.testing.assert_array_equal(sokoban.step(corner, np.array([0])), corner)


@pytest.mark.parametrize(
    ("cell", "symbol"),
    [((0, 0), 1), ((1, 1), 0), ((1, 1), 2), ((1, 1), 3), ((1, 1), 5), ((3, 3), 1)],
)
def test_foreign_grids_are_not_legal(cell: tuple[int, int], symbol: int) -> None:
    domain = create("sokoban", height=5, width=7, boxes=2)
    origin = domain.parse(SMALL)
    changed = origin.copy()
    changed[cell] = symbol
    verdicts = domain.is_legal(np.stack([origin, changed]), np.stack([origin, origin]))
    assert verdicts.tolist() == [True, False]


def test_symbols_beyond_the_alphabet_are_not_legal(sokoban: Domain) -> None:
    state = sokoban.sample(stream(0, "legal"), 1)
    changed = state.copy()
    changed[state == 1] = 200
    assert not sokoban.is_legal(changed, state)[0]


def _likeliest(scores: np.ndarray, origin: Grid) -> float:
    """The best total score of any legal grid, by trying all of them."""
    free = [cell for cell in np.ndindex(origin.shape) if origin[cell] != 0]
    base = {cell: 2 if origin[cell] in (2, 4, 6) else 1 for cell in free}
    num_boxes = int(np.isin(origin, (3, 4)).sum())
    best = -np.inf
    for boxes in combinations(free, num_boxes):
        for player in set(free) - set(boxes):
            total = 0.0
            for cell in free:
                extra = 2 * (cell in boxes) + 4 * (cell == player)
                total += scores[(*cell, base[cell] + extra)]
            best = max(best, total)
    return best


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_decode_finds_the_likeliest_legal_grid(seed: int) -> None:
    domain = create("sokoban", height=5, width=6, boxes=2)
    rng = stream(seed, "decode")
    origins = domain.sample(rng, 2)
    scores = rng.normal(size=(2, 5, 6, 7)).astype(np.float32)
    decoded = domain.decode(scores, origins)
    assert domain.is_legal(decoded, origins).all()
    for grid, table, origin in zip(decoded, scores, origins, strict=True):
        reached = sum(float(table[(*c, grid[c])]) for c in np.ndindex(grid.shape) if origin[c] != 0)
        assert reached == pytest.approx(_likeliest(table, origin), abs=1e-3)


def test_decode_returns_legal_grids_for_unusable_scores(sokoban: Domain) -> None:
    origins = sokoban.sample(stream(1, "decode"), 3)
    for value in (np.nan, np.inf, -np.inf, 0.0):
        scores = np.full((3, 10, 10, 7), value, dtype=np.float32)
        assert sokoban.is_legal(sokoban.decode(scores, origins), origins).all()


@pytest.mark.parametrize(
    "size", [(3, 5, 1), (5, 5, 1), (6, 6, 3), (7, 12, 2), (10, 10, 4), (10, 10, 6), (20, 20, 8)]
)
def test_generated_rooms(size: tuple[int, int, int]) -> None:
    height, width, boxes = size
    domain = create("sokoban", height=height, width=width, boxes=boxes)
    rooms = domain.sample(stream(3, "rooms"), 20)
    assert rooms.shape == (20, height, width)
    assert domain.is_legal(rooms, rooms).all()
    assert (rooms == 3).sum(axis=(1, 2)).tolist() == [boxes] * 20, "every box starts off its goal"
    assert (rooms[:, [0, -1]] == 0).all()
    assert (rooms[:, :, [0, -1]] == 0).all()
    np.testing.assert_array_equal(rooms, domain.sample(stream(3, "rooms"), 20))
    if boxes > 1:
        assert len({room.tobytes() for room in rooms}) == 20


@pytest.mark.parametrize(
    "parameters",
    [{"height": 2}, {"width": 65}, {"boxes": 0}, {"boxes": 64}, {"height": 3, "width": 5}],
)
def test_impossible_parameters_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        create("sokoban", **parameters)


def test_a_room_too_small_to_generate_is_refused() -> None:
    with pytest.raises(ConfigError, match="larger"):
        create("sokoban", height=4, width=4, boxes=1).sample(stream(0, "small"), 1)


def test_the_variant_has_six_boxes() -> None:
    assert create("sokoban", variant="ood").parameters()["boxes"] == 6


@pytest.mark.parametrize(("width", "count"), [(10, 7), (8, 3)])
def test_symmetries(width: int, count: int) -> None:
    domain = create("sokoban", width=width)
    rng = stream(5, "symmetries")
    states = domain.sample(rng, 50)
    actions = rng.integers(4, size=50)
    symmetries = domain.symmetries()
    assert len(symmetries) == count
    for symmetry in symmetries:
        images = np.array(symmetry.actions)[actions]
        np.testing.assert_array_equal(
            domain.step(symmetry.transform(states), images),
            symmetry.transform(domain.step(states, actions)),
        )


def test_for_grid_takes_the_size_and_the_boxes_of_a_level(sokoban: Domain) -> None:
    other = create("sokoban", height=7, width=12, boxes=2)
    room = other.sample(stream(0, "size"), 1)[0]
    assert sokoban.for_grid(room) == other
    assert other.for_grid(room) is other
    with pytest.raises(LevelError, match="65"):
        sokoban.for_grid(np.zeros((65, 10), dtype=np.uint8))


def test_pictures_tell_all_symbols_apart(sokoban: Domain) -> None:
    picture = sokoban.render(np.arange(7, dtype=np.uint8)[None], cell=24)
    assert picture.shape == (24, 168, 3)
    assert picture.dtype == np.uint8
    assert len({picture[:, 24 * i : 24 * (i + 1)].tobytes() for i in range(7)}) == 7
    assert sokoban.render(np.zeros((3, 4), dtype=np.uint8), cell=1).shape == (3, 4, 3)
