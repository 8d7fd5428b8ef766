"""Puzzles as text and in PDDL: what is read, what is refused and where."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import check_domain
from hips.domains.records import Level
from hips.domains.sliding_tiles import SlidingTiles
from hips.errors import ConfigError, HipsError, LevelError
from hips.seeding import stream

sides = st.integers(2, 6)
near_puzzles = st.lists(
    st.sampled_from([*map(str, range(27)), "B", "b", ",", "\n", "-1", "99999999999", "x", ";"]),
    max_size=60,
).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(height=sides, width=sides, seed=st.integers(0, 2**32))
def test_text_round_trips(height: int, width: int, seed: int) -> None:
    domain = SlidingTiles(height, width)
    states = domain.sample(stream(seed, "text"), 3)
    np.testing.assert_array_equal(domain.parse(domain.text(states[0])), states[0])
    exported = domain.export(list(states), "text")
    assert exported.count("\n") == 3
    np.testing.assert_array_equal(np.stack(domain.parse_many(exported)), states)


def test_lines_may_use_b_commas_comments_and_other_square_sizes() -> None:
    grids = SlidingTiles().parse_many("# tiles\n\n3, 1, 2, B\n; more\n8 7 6 5 4 3 2 1 0\r\n")
    assert [grid.tolist() for grid in grids] == [
        [[3, 1], [2, 0]],
        [[8, 7, 6], [5, 4, 3], [2, 1, 0]],
    ]


def test_an_oblong_is_read_at_the_domains_size() -> None:
    line = " ".join(map(str, range(12)))
    assert SlidingTiles(3, 4).parse(line).shape == (3, 4)
    assert SlidingTiles(4, 3).parse(line).shape == (4, 3)


def test_an_unsolvable_puzzle_is_a_legal_input() -> None:
    domain = SlidingTiles(2, 2)
    state = domain.parse("0 2 1 3")
    assert not domain.solvable(state[None])[0]


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("0 1 2", 1, 5, "3 numbers"),
        ("0 1 2 3\n0 1 2 2", 2, 7, "tile 2 occurs twice"),
        ("0 1 B 2", 1, 5, "the blank occurs twice"),
        ("1 2 3 4", 1, 7, "tile 4 is too large"),
        ("0 1 2 -3", 1, 7, "not a tile"),
        ("0 1 ² 3", 1, 5, "not a tile"),
        ("0 1 2 three", 1, 7, "not a tile"),
        (" ".join(map(str, range(49))), 1, 99, "more than 36"),
        ("0 " * 1_000_000, 1, 73, "more than 36"),
    ],
)
def test_bad_puzzles_are_refused_with_place_and_reason(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(LevelError, match=reason) as caught:
        SlidingTiles(2, 2).parse_many(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_puzzles_may_have_a_row_per_line() -> None:
    square = "; rows\n0 1 2 3\n4 5 6 7\n8 9 10 11\n12 13 14 15\n1 0 2 3\n0 1 2\n3 4 5\n\n"
    found = list(SlidingTiles().read([*square.splitlines(), "3 1 2", "0 4 5", "6 7 8"]))
    shapes = [one.grid.shape for one in found if isinstance(one, Level)]
    assert shapes == [(4, 4), (2, 2), (2, 3), (3, 3)]
    assert isinstance(found[0], Level)
    assert found[0].title == "rows"
    bad = list(SlidingTiles().read(["0 1 2", "3 4 5 6"]))
    assert [type(one) for one in bad] == [LevelError, LevelError]


def test_the_blank_may_come_last() -> None:
    domain = SlidingTiles(3, 3, blank_last=True)
    check_domain(domain)
    assert domain.is_goal(domain.parse("1 2 3 4 5 6 7 8 0")[None])[0]
    assert "(at t1 c0-0)" in domain.pddl(domain.parse("1 2 3 4 5 6 7 0 8"))[1].split(":goal")[1]
    assert domain.for_grid(np.zeros((4, 4), dtype=np.uint8)).blank_last
    assert not domain.same_rules({"height": 3, "width": 3})


@pytest.mark.parametrize("text", ["", "\n\n", "; nothing\n# here"])
def test_a_text_without_a_puzzle_is_refused(text: str) -> None:
    with pytest.raises(LevelError, match="no level"):
        SlidingTiles().parse_many(text)


def _only_level_errors(text: str) -> None:
    domain = SlidingTiles(3, 3)
    try:
        grids = domain.parse_many(text)
    except LevelError:
        return
    for grid in grids:
        assert sorted(grid.ravel().tolist()) == list(range(grid.size))


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(st.text(), near_puzzles))
def test_noise_is_refused_cleanly(text: str) -> None:
    _only_level_errors(text)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(text=st.one_of(st.text(), near_puzzles))
def test_much_noise_is_refused_cleanly(text: str) -> None:
    _only_level_errors(text)


def test_pddl_states_the_puzzle_and_reads_plans() -> None:
    domain = SlidingTiles(2, 3)
    rules, problem = domain.pddl(domain.parse("1 2 0 3 4 5"))
    assert "(blank c0-2)" in problem
    assert "(at t1 c0-0)" in problem
    assert "(:goal (and (at t1 c0-1)" in problem
    for text in (rules, problem, domain.export([domain.parse("1 2 0 3 4 5")], "pddl")):
        assert text.count("(") == text.count(")")
    lines = ["; cost = 2", "(move-left t2 c0-2 c0-1)", "", "1: (MOVE-LEFT t1 c0-1 c0-0)"]
    assert domain.plan_from_pddl(lines).tolist() == [3, 3]
    with pytest.raises(LevelError, match="move-up") as caught:
        domain.plan_from_pddl(["(move-up t1 c1-1 c0-1)", "(fly t2)"])
    assert caught.value.line == 2


def test_an_unknown_format_is_refused() -> None:
    domain = SlidingTiles()
    with pytest.raises(ConfigError, match="text, pddl"):
        domain.export([], "xml")
    assert issubclass(ConfigError, HipsError)
