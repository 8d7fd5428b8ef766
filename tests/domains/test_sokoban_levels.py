"""Sokoban's text formats: what is read, what is refused and where, what is written."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Domain, create, replay
from hips.errors import ConfigError, LevelError
from hips.seeding import stream

TINY = "#####\n#@$.#\n#####"
RAGGED = "   ####\n####  #\n#@ $ .#\n#######"
CLASSIC = """\
Title: Small
Author: somebody

  ####
###  #
#.@$ ##
#  $. #
#  ####
####
Comment: the wall is
not straight; that is fine.
"""
BOXOBAN = f"; 0\n{TINY}\n\n; 1\n{TINY}\n"


@pytest.fixture(scope="module")
def tiny() -> Domain:
    """A domain smaller than every level, so that nothing is padded."""
    return create("sokoban", height=3, width=5, boxes=1)


@pytest.fixture(scope="module")
def sokoban() -> Domain:
    return create("sokoban")


def test_text_and_parse_are_inverse(sokoban: Domain) -> None:
    rng = stream(0, "levels")
    for state in sokoban.sample(rng, 20):
        walk = replay(sokoban, state, rng.integers(4, size=30))
        for visited in walk[::10]:
            np.testing.assert_array_equal(sokoban.parse(sokoban.text(visited)), visited)


@pytest.mark.parametrize(
    "text",
    [
        TINY,
        TINY.replace("\n", "\r\n") + "\r\n",
        "\ufeff" + TINY,
        "\n\n" + TINY + "\n\n",
        "  " + TINY.replace("\n", "\n  "),
        "5#|#@$.#|5#",
        "5#|\n#@$.#\n5#",
        "; 1\n5#\n#@$.#\n5#\nTitle: run lengths",
        "My levels\n=========\n\n" + TINY + "\nAuthor: me",
    ],
)
def test_ways_to_write_the_same_level(tiny: Domain, text: str) -> None:
    assert tiny.text(tiny.parse(text)) == TINY


def test_blank_characters_are_floor(tiny: Domain) -> None:
    rows = "#######\n#@{}$ .#\n#######"
    levels = [tiny.parse(rows.format(blank)) for blank in " -_"]
    assert levels[0][1, 2] == 1
    assert all(np.array_equal(level, levels[0]) for level in levels)


def test_ragged_edges_become_walls(tiny: Domain) -> None:
    assert tiny.text(tiny.parse(RAGGED)) == "#######\n####  #\n#@ $ .#\n#######"
    assert tiny.text(tiny.parse(CLASSIC)).splitlines() == [
        "#######", "###  ##", "#.@$ ##", "#  $. #", "#  ####", "#######",
    ]  # fmt: skip


def test_boxoban_files_hold_many_levels(tiny: Domain) -> None:
    assert [tiny.text(level) for level in tiny.parse_many(BOXOBAN)] == [TINY, TINY]
    with pytest.raises(LevelError, match="expected one level, found 2"):
        tiny.parse(BOXOBAN)


def test_small_levels_are_padded_and_large_ones_kept(sokoban: Domain, tiny: Domain) -> None:
    padded = sokoban.parse(TINY)
    assert padded.shape == (10, 10)
    np.testing.assert_array_equal(padded[3:6, 2:7], tiny.parse(TINY))
    assert (padded != 0).sum() == 3
    wide = "#" * 16 + "\n#@$." + " " * 11 + "#\n" + "#" * 16
    assert sokoban.parse(wide).shape == (3, 16)


ERRORS = [
    ("", 1, 1, "no level"),
    ("nothing\nto see here", 1, 1, "no level"),
    ("#####\n#@x.#\n#####", 2, 3, "unknown character 'x'"),
    ("#####\nx@$.#\n#####", 2, 1, "unknown character 'x'"),
    ("#####\n#@\t.#\n#####", 2, 3, "unknown character"),
    ("#####\n# $.#\n#####", 1, 1, "no player"),
    ("######\n#@$.@#\n######", 2, 5, "second player"),
    ("######\n#@$..#\n######", 2, 5, "more goals than boxes"),
    ("######\n#@$$.#\n######", 2, 4, "more boxes than goals"),
    ("#####\n#@  #\n#####", 1, 1, "no box"),
    ("#####\n#@$. \n#####", 2, 5, "not closed"),
    ("#####\n#@$.#\n## ##", 3, 3, "not closed"),
    ("#####\n#@$.#", 2, 2, "not closed"),
    ("4# #\n#@$.-#\n6#", 1, 3, "not closed"),
    ("#####\n#@$.#\n#####\n  $.###", 4, 3, "outside"),
    ("#" * 65 + "\n#@$." + " " * 60 + "#\n" + "#" * 65, 1, 1, "65 columns"),
    ("5#3\n#@$.#\n#####", 1, 3, "nothing follows"),
    ("5#|#@$.2)#|5#", 1, 9, "unknown character ')'"),
    ("5#|#2(@$.#|5#", 1, 6, "never closed"),
    ("5#|#0(-)@$.#|5#", 1, 6, "at least 1"),
    ("5#|#9(9(9(9(9(-)))))@$.#|5#", 1, 19, "too long"),
    ("999999999999999#", 1, 16, "too long"),
    ("#" * 10**6, 1, 1001, "too long"),
    ("#\n" * 2000, 1, 1, "too many rows"),
    ("#|" * 10**6, 1, 1, "too many rows"),
    ("#####\n#@0$.#\n#####", 2, 4, "at least 1"),
    ("|#####\n#@$.#\n##-##|", 3, 3, "not closed"),
    ("5#||5#\n@$.#\n#####", 2, 1, "not closed"),
]


@pytest.mark.parametrize(("text", "line", "column", "reason"), ERRORS)
def test_bad_levels_are_refused_with_their_place(
    tiny: Domain, text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(LevelError, match=re.escape(reason)) as caught:
        tiny.parse_many(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_place_counts_from_the_start_of_the_file(tiny: Domain) -> None:
    with pytest.raises(LevelError, match="line 10, column 3: unknown"):
        tiny.parse_many(BOXOBAN + "##x")


level_text = st.text(alphabet="#@+$*. -_|0123456789;x\n\r\t", max_size=120)
board_text = st.lists(st.text(alphabet="##  @$.*+-3|", min_size=1, max_size=8), max_size=7)


def check_reading(domain: Domain, text: str) -> None:
    """Text is either refused with a LevelError or read as levels that round-trip."""
    try:
        levels = domain.parse_many(text)
    except LevelError:
        return
    for level in levels:
        assert domain.for_grid(level).is_legal(level[None], level[None])[0]
        np.testing.assert_array_equal(domain.parse(domain.text(level)), level)


@given(text=st.one_of(level_text, board_text.map("\n".join), st.text(max_size=200)))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    check_reading(create("sokoban", height=3, width=5, boxes=1), text)


@pytest.mark.parametrize("text", ["9" * 5_000, "9(" * 2_500, "9 " * 2_500 + "x"])
def test_endless_numbers_are_refused_without_delay(text: str) -> None:
    with pytest.raises(LevelError):
        create("sokoban").parse_many(text)


@pytest.mark.slow
@given(text=st.one_of(level_text, board_text.map("\n".join), st.text(max_size=400)))
@settings(max_examples=10_000, deadline=None)
def test_any_text_is_read_or_refused_at_length(text: str) -> None:
    check_reading(create("sokoban", height=3, width=5, boxes=1), text)


@given(seed=st.integers(0, 10**6), edits=st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_damaged_levels_are_read_or_refused(seed: int, edits: int) -> None:
    domain = create("sokoban")
    rng = stream(seed, "damage")
    text = list(domain.text(domain.sample(rng, 1)[0]))
    for position in rng.integers(len(text), size=edits):
        text[position] = rng.choice(list("#@$. \nx9"))
    check_reading(domain, "".join(text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "alphabet", ["#@$. \n", "# \n", "0123456789#|", "".join(map(chr, range(256)))]
)
def test_ten_megabytes_of_noise(alphabet: str) -> None:
    picks = stream(0, "noise").integers(len(alphabet), size=10_000_000)
    with pytest.raises(LevelError):
        create("sokoban").parse_many("".join(np.array(list(alphabet))[picks]))


def test_plans_are_written_as_lurd(tiny: Domain) -> None:
    level = tiny.parse("######\n#@   #\n# $  #\n#.   #\n######")
    names = ("up", "right", "right", "down", "left", "up", "left", "down")
    actions = tiny.spec.action_indices(names)
    assert tiny.plan_formats(level, actions) == {"lurd": "rrdLulD"}


def test_run_lengths_may_repeat_groups(sokoban: Domain) -> None:
    short = "8#|#@2(-$)..#|2(#6-#|)8#"
    plain = "########\n#@ $ $..#\n#      #\n#      #\n########"
    np.testing.assert_array_equal(sokoban.parse(short), sokoban.parse(plain))


def test_every_format_is_read_back(sokoban: Domain) -> None:
    rooms = sokoban.sample(stream(7, "formats"), 3)
    for format in ("xsb", "boxoban"):
        np.testing.assert_array_equal(
            np.stack(sokoban.parse_many(sokoban.export(rooms, format))), rooms
        )
    assert sokoban.export(rooms, "boxoban").startswith("; 0\n##########\n")
    with pytest.raises(ConfigError, match="Available: xsb, boxoban, pddl"):
        sokoban.export(rooms, "png")
    assert sokoban.export(rooms, "pddl").count("(define (problem") == len(rooms)
