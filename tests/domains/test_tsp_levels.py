"""Maps as text, TSPLIB and PDDL: what is read, what is refused and where."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import replay
from hips.domains.records import Level
from hips.domains.tsp import TravellingSalesman
from hips.errors import ConfigError, LevelError
from hips.seeding import stream

HEADER = "NAME : x\nTYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n"
OWN_HEADER = HEADER.replace("TYPE : TSP", "COMMENT : grid 3")
INSTANCE = HEADER + "1 0 0\n2 2 0\n3 1 2\nEOF\n"
near_grids = st.lists(st.sampled_from([*".oxSaOXA", "?", "\n", "\n", ";", " "]), max_size=60)
near_tsplib = st.lists(
    st.sampled_from([*INSTANCE.splitlines(), "EOF", "DIMENSION : 9", "4 1 1", "2 1e400 0", "x"]),
    max_size=12,
)
noise = st.one_of(
    st.text(), near_grids.map("".join), near_tsplib.map("\n".join), near_tsplib.map("NAME :".join)
)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(3, 12), seed=st.integers(0, 2**32), wander=st.integers(0, 30))
def test_text_round_trips(size: int, seed: int, wander: int) -> None:
    domain = TravellingSalesman(size, 4)
    rng = stream(seed, "text")
    states = [
        replay(domain, start, rng.integers(4, size=wander))[-1] for start in domain.sample(rng, 3)
    ]
    np.testing.assert_array_equal(domain.parse(domain.text(states[0])), states[0])
    np.testing.assert_array_equal(domain.parse_many(domain.export(states, "text")), states)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(3, 12), seed=st.integers(0, 2**32))
def test_tsplib_round_trips_and_knows_the_size(size: int, seed: int) -> None:
    domain = TravellingSalesman(size, 5)
    states = domain.sample(stream(seed, "tsplib"), 3)
    exported = domain.export(list(states), "tsplib")
    np.testing.assert_array_equal(TravellingSalesman().parse_many(exported), states)


def test_tsplib_coordinates_are_column_and_row_and_the_first_is_the_start() -> None:
    domain = TravellingSalesman(3, 2)
    assert domain.text(domain.parse(INSTANCE)) == "A.o\n...\n.o."
    decimals = INSTANCE.replace("EUC_2D", "MAN_2D").replace("2 2 0", "  2 2.0 0.0e0 ")
    np.testing.assert_array_equal(domain.parse(decimals), domain.parse(INSTANCE))


def test_tsplib_without_dimension_or_end_is_read() -> None:
    text = INSTANCE.replace("DIMENSION : 3\n", "").replace("EOF\n", "")
    assert TravellingSalesman(3, 2).text(TravellingSalesman(3, 2).parse(text)) == "A.o\n...\n.o."


def test_foreign_coordinates_are_scaled_onto_the_grid_with_a_note() -> None:
    text = HEADER.replace(": 3", ": 4") + "1 565.0 575.0\n2 25 185\n3 345 1.75e2\n4 345.1 175\n"
    (level,) = TravellingSalesman(5, 3).read(text.splitlines())
    assert isinstance(level, Level)
    assert TravellingSalesman(5, 3).text(level.grid) == "ooo..\n.....\n.....\n....A\n....."
    assert level.title == "x"
    assert "scaled onto 5 × 5" in level.note
    assert "1 of 4 nodes moved" in level.note


def test_a_map_under_way_does_not_fit_into_tsplib() -> None:
    domain = TravellingSalesman(3, 2)
    for text in ("S.o\na..\n.o.", "A.o\n...\n.x."):
        with pytest.raises(ConfigError, match="TSPLIB"):
            domain.export([domain.parse(text)], "tsplib")


def test_a_city_under_the_agent_counts_as_visited() -> None:
    domain = TravellingSalesman(3, 2)
    assert domain.text(domain.parse("S.O\n...\n.o.")) == "S.X\n...\n.o."


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("A.o\n...\n..", 3, 3, "2 cells"),
        ("A.o\n....\n...", 2, 4, "4 cells"),
        ("A.o\n...", 2, 1, "2 rows of 3"),
        ("A.o\n...\n...\n...", 4, 1, "4 rows of 3"),
        ("A.o\n.#.\n...", 2, 2, "unknown character"),
        ("A.\n.o", 1, 2, "2 cells"),
        ("." * 5000, 1, 41, "5000 cells"),
        ("A.o\n...\n..A", 3, 3, "second start"),
        ("A.o\n...\n..a", 3, 3, "second agent"),
        ("S.o\n...\n...", 1, 1, "no agent"),
        ("..o\n.a.\n...", 1, 1, "no start"),
        ("\nA..\n...\n...", 2, 1, "no city"),
    ],
)
def test_bad_grids_are_refused_with_place_and_reason(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(LevelError, match=reason) as caught:
        TravellingSalesman().parse_many(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        (OWN_HEADER + "1 0 0\n2 3 0\n3 1 2\n", 7, 1, "off the grid"),
        (OWN_HEADER + "1 0 0\n2 0 -1\n3 1 2\n", 7, 1, "off the grid"),
        (OWN_HEADER + "1 0 0\n2 2 0.5\n3 0 1\n", 7, 1, "not an integer"),
        (OWN_HEADER + "1 0 0\n2 2 0\n3 0 0\n", 8, 1, "second node"),
        (HEADER + "1 0 0\n2 2 1e400\n", 7, 5, "not a coordinate"),
        (HEADER + "1 0 0\n2 two 0\n", 7, 3, "not a coordinate"),
        (HEADER + "1 0 0\n2 2 0\n", 7, 1, "ends after 2 of 3"),
        (HEADER + "1 0 0\n2 2\n", 7, 3, "2 words"),
        (INSTANCE.replace("EOF", "4 2 2"), 9, 1, "more nodes"),
        ("NAME : x\nTYPE : TSP\n", 2, 10, "ends before"),
        (INSTANCE.replace(": 3", ": 1000000"), 3, 1, "at most 1600"),
        (INSTANCE.replace(": 3", ": 0"), 3, 1, "at least one city"),
        (INSTANCE.replace(": 3", ": many"), 3, 1, "not a number"),
        (INSTANCE.replace("EUC_2D", "EXPLICIT"), 4, 1, "EUC_2D"),
        (INSTANCE.replace("NAME : x", "COMMENT : grid 999"), 1, 1, "grid 999"),
        ("NAME : x\nhello there\n", 2, 1, "KEYWORD"),
        ("NODE_COORD_SECTION\n1 0 0\n", 1, 1, "at least one city"),
    ],
)
def test_bad_tsplib_is_refused_with_place_and_reason(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(LevelError, match=reason) as caught:
        TravellingSalesman(3, 2).parse_many(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def _only_level_errors(text: str) -> None:
    domain = TravellingSalesman(3, 2)
    try:
        grids = domain.parse_many(text)
    except LevelError:
        return
    for grid in grids:
        np.testing.assert_array_equal(domain.parse(domain.text(grid)), grid)
        assert domain.for_grid(grid).is_legal(grid[None], grid[None])[0]


@settings(max_examples=200, deadline=None)
@given(text=noise)
def test_noise_is_refused_cleanly(text: str) -> None:
    _only_level_errors(text)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(text=noise)
def test_much_noise_is_refused_cleanly(text: str) -> None:
    _only_level_errors(text)


def test_a_plan_is_written_as_a_tour_of_first_visits() -> None:
    domain = TravellingSalesman(3, 2)
    state = domain.parse(INSTANCE)
    actions = domain.spec.action_indices(["up", "down", "down", "right", "left", "right", "up"])
    lines = domain.plan_formats(state, actions)["tsplib_tour"].split("\n")
    assert lines[lines.index("TOUR_SECTION") + 1 :] == ["1", "3", "-1", "EOF", ""]


def test_pddl_states_the_map_and_reads_plans() -> None:
    domain = TravellingSalesman(3, 2)
    rules, problem = domain.pddl(domain.parse("S.o\n.a.\n.x."))
    assert "(:init (at c1-1)" in problem
    assert "(:goal (and (at c0-0) (visited c0-2)))" in problem
    for text in (rules, problem, domain.export([domain.parse(INSTANCE)], "pddl")):
        assert text.count("(") == text.count(")")
    assert domain.plan_from_pddl(["(move-down c0-0 c1-0)", "(move-right c1-0 c1-1)"]).tolist() == [
        2,
        1,
    ]
