"""Box-World's text format: round trips, and errors that point at the place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains.box_world import BoxWorld
from hips.errors import LevelError
from hips.seeding import stream

DOMAIN = BoxWorld(size=6)
GOOD = """\
########
#......#
#.a@.bA#
#......#
#.cA...#
#....$B#
#......#
########"""


def changed(row: int, column: int, glyph: str) -> str:
    """GOOD with one character replaced."""
    rows = GOOD.split("\n")
    rows[row] = rows[row][:column] + glyph + rows[row][column + 1 :]
    return "\n".join(rows)


def test_text_is_what_was_read() -> None:
    assert DOMAIN.text(DOMAIN.parse(GOOD)) == GOOD


def test_files_with_comments_hold_many_levels() -> None:
    states = BoxWorld().sample(stream(0, "file"), 5)
    text = "; a comment\n\n" + BoxWorld().export(list(states), "text")
    np.testing.assert_array_equal(BoxWorld().parse_many(text), states)


def test_small_levels_are_filled_up_and_large_ones_change_the_domain() -> None:
    small = BoxWorld(size=9).parse(GOOD)
    assert small.shape == (11, 11)
    assert (small[8:] == 0).all()
    large = BoxWorld(size=4).parse(GOOD)
    assert BoxWorld(size=4).for_grid(large) == DOMAIN


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "no level"),
        (changed(3, 3, "?"), 4, 4, "unknown character"),
        (changed(3, 3, "z"), 4, 4, "unknown character"),
        (changed(3, 3, "é"), 4, 4, "unknown character"),
        (changed(2, 3, "."), 1, None, "no agent"),
        (changed(6, 6, "@"), 7, 7, "second agent"),
        (changed(5, 5, "f"), 1, None, "no gem"),
        (changed(1, 6, "$"), 6, 6, "second gem"),
        (changed(3, 3, "A"), 4, 4, "without a key"),
        (changed(4, 4, "B"), 5, 5, "without a key"),
        (changed(4, 4, "b"), 5, 5, "touches"),
        (changed(2, 1, "d"), 3, 3, "touches"),
        (changed(7, 2, "."), 8, 3, "close the room"),
        (changed(0, 0, "A"), 1, 1, "close the room"),
        (GOOD + "#", 8, 9, "9 cells in a row"),
        (GOOD[:-1], 8, 8, "7 cells in a row"),
        ("#" * 40, 1, None, "at most 32"),
        (GOOD + "\n\n" + GOOD, None, None, "expected one level"),
    ],
)
def test_bad_levels(text: str, line: int | None, column: int | None, words: str) -> None:
    with pytest.raises(LevelError, match=words) as caught:
        DOMAIN.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(LevelError):
        DOMAIN.for_grid(np.zeros((8, 9), dtype=np.uint8))
    with pytest.raises(LevelError):
        DOMAIN.for_grid(np.zeros((40, 40), dtype=np.uint8))


def check_noise(text: str) -> None:
    """Parsing either works, with a text that reads back the same, or explains itself."""
    try:
        levels = DOMAIN.parse_many(text)
    except LevelError:
        return
    for level in levels:
        np.testing.assert_array_equal(DOMAIN.for_grid(level).parse(DOMAIN.text(level)), level)


MUTATIONS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from("#.@$abcABC?; \n")), max_size=4
)


def mutate(mutations: list[tuple[int, int, str]]) -> str:
    rows = [list(row) for row in GOOD.split("\n")]
    for row, column, glyph in mutations:
        rows[row][column] = glyph
    return "\n".join("".join(row) for row in rows)


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(st.text(max_size=200), MUTATIONS.map(mutate)))
def test_noise_never_gives_a_traceback(text: str) -> None:
    check_noise(text)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(text=st.one_of(st.text(max_size=400), MUTATIONS.map(mutate)))
def test_much_noise_never_gives_a_traceback(text: str) -> None:
    check_noise(text)


def test_pictures_show_the_held_key() -> None:
    state = DOMAIN.parse(GOOD)
    empty = DOMAIN.render(state, 16)
    assert empty.shape == (8 * 16, 8 * 16, 3)
    state[0, 0] = 4
    holding = DOMAIN.render(state, 16)
    assert (holding[:16, :16] != empty[:16, :16]).any()
    np.testing.assert_array_equal(holding[16:], empty[16:])
