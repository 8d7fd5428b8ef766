"""Rounds as events for the page."""

from __future__ import annotations

from hips.planner.options import SearchOptions
from hips.planner.search import Search
from hips.web.events import RoundWriter
from tests.planner.expanders import postponing
from tests.planner.worlds import random_graph

PENDING = -1  # last entry of a child


def test_every_expanded_node_of_a_round_is_an_event_and_pending_children_say_so() -> None:
    world = random_graph(5, size=40, solvable=False)
    search = Search(world, [world.grid(0)], postponing(world, "plausible"), SearchOptions(width=3))
    writer = RoundWriter(world, max_nodes=10_000)
    events = [event for found in search.rounds() for event in writer.write(found)]
    expansions = search.results()[0].statistics.expansions
    assert [event["order"] for event in events] == list(range(1, expansions + 1))
    children = [child for event in events for child in event["children"]]
    assert {child[PENDING] for child in children} == {0, 1}
    assert {child[0] for child in children} >= {event["node"] for event in events[1:]}
    assert [event["parent"] for event in events].count(-1) == 1
