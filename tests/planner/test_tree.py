"""Recorded trees: whole, readable by others, and true to the search."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hips.domains import Domain, Grid
from hips.planner import tree
from hips.planner.budget import Budget
from hips.planner.children import Fate
from hips.planner.result import Result
from hips.planner.search import solve_many
from hips.planner.tree import TreeNode, TreeRecorder

from .expanders import low_level, misleading
from .worlds import TinyTiles, after, random_graph

TILES = TinyTiles()
START = after(TILES, TILES.all_states()[0], [1, 2, 1, 0, 3])


def record(
    domain: Domain, start: Grid, adversary: str, **options: Any
) -> tuple[TreeRecorder, Result]:
    recorder = TreeRecorder(domain)
    expander = misleading(domain, adversary, 0.1, 1.0)
    (result,) = solve_many(domain, [start], expander, recorder, **options)
    return recorder, result


def way_to(nodes: dict[int, TreeNode], node: TreeNode) -> list[TreeNode]:
    """The nodes from the root (left out) to `node`."""
    way: list[TreeNode] = []
    while node.parent is not None:
        way.append(node)
        node = nodes[node.parent]
    return way[::-1]


@pytest.mark.parametrize("adversary", ["plausible", "same_one", "nothing"])
@pytest.mark.parametrize("keep_first", [False, True])
def test_the_solution_is_a_way_through_the_tree(adversary: str, keep_first: bool) -> None:
    for seed in range(4):
        world = random_graph(seed, size=40)
        recorder, result = record(world, world.grid(0), adversary, close_on_generation=keep_first)
        assert result.solved
        (found,) = recorder.trees.values()
        assert found.result is result
        assert found.expansions == result.statistics.expansions
        ways = [way_to(found.nodes, node) for node in found.nodes.values() if node.goal]
        edges = [(segment.kind, segment.label, segment.steps) for segment in result.segments]
        assert edges in [[(node.kind, node.label, node.length) for node in way] for way in ways]
        assert any(node.steps == result.length for node in found.nodes.values() if node.goal)


def test_every_node_has_a_parent_that_was_expanded_before_it() -> None:
    world = random_graph(5, size=40, solvable=False)
    recorder, result = record(world, world.grid(0), "plausible")
    nodes = recorder.trees[0].nodes
    roots = [node for node in nodes.values() if node.parent is None]
    assert [(root.kind, root.expanded) for root in roots] == [("root", 1)]
    np.testing.assert_array_equal(roots[0].state, world.grid(0))
    assert len({node.state.tobytes() for node in nodes.values()}) == len(nodes)
    order = sorted(node.expanded for node in nodes.values() if node.expanded is not None)
    assert order == list(range(1, result.statistics.expansions + 1))
    for node in nodes.values():
        if node.parent is None:
            continue
        parent = nodes[node.parent]
        assert (node.g, node.steps) == (parent.g + 1, parent.steps + node.length)
        assert parent.expanded is not None
        assert node.expanded is None or parent.expanded < node.expanded
        assert 0.0 < node.probability <= 1.0
        assert node.log_pi == pytest.approx(parent.log_pi + np.log(node.probability))


def test_rejected_proposals_are_kept_with_their_reasons() -> None:
    world = random_graph(5, size=40, solvable=False)
    for adversary in ("plausible", "rubbish", "self_loops"):
        recorder, result = record(world, world.grid(0), adversary)
        rejected = [one for node in recorder.trees[0].nodes.values() for one in node.rejected]
        statistics = result.statistics
        for fate in (Fate.ILLEGAL, Fate.REPEATED, Fate.UNREACHED):
            name = fate.name.lower()
            count = sum(one["reason"] == name for one in rejected)
            assert count == getattr(statistics, f"proposals_{name}")
        assert len(rejected) > 0


def test_trees_are_json() -> None:
    recorder, result = record(TILES, START, "plausible")
    assert result.solved
    content = json.loads(json.dumps(recorder.trees[0].to_json(), allow_nan=False))
    assert content["domain"] == "tiny_tiles"
    assert Result.from_json(content["result"]) == result
    numbers = {node["number"] for node in content["nodes"]}
    assert len(numbers) == len(content["nodes"]) == len(recorder.trees[0].nodes)
    parents = [node["parent"] for node in content["nodes"]]
    assert parents.count(None) == 1
    assert set(parents) - {None} <= numbers
    states = {TILES.parse(node["state"]).tobytes() for node in content["nodes"]}
    assert len(states) == len(numbers)


def test_graphviz_draws_what_was_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, result = record(TILES, START, "plausible")
    assert result.solved
    text = recorder.trees[0].to_graphviz()
    assert text.startswith("digraph ")
    assert text.rstrip().endswith("}")
    assert text.count("{") == text.count("}") == 1
    assert text.count("palegreen") >= 1
    drawn = sum("label=" in line and "->" not in line for line in text.splitlines())
    assert drawn >= result.statistics.expansions
    assert text.count("->") == drawn - 1
    monkeypatch.setattr(tree, "MAX_DRAWN", 3)
    short = recorder.trees[0].to_graphviz().splitlines()
    assert sum("label=" in line and "->" not in line for line in short) == 3


def test_searches_in_lockstep_have_trees_of_their_own() -> None:
    starts = TILES.all_states()[[100, 0, 300, 500]]
    recorder = TreeRecorder(TILES)
    budget = Budget(max_expansions=9)
    results = solve_many(TILES, starts, low_level(TILES), recorder, budget=budget, batch=2)
    assert sorted(recorder.trees) == [0, 1, 2, 3]
    for index, found in recorder.trees.items():
        assert found.result is results[index]
        assert found.expansions == results[index].statistics.expansions
        alone = TreeRecorder(TILES)
        solve_many(TILES, starts[index : index + 1], low_level(TILES), alone, budget=budget)
        shapes = [
            sorted((n.state.tobytes(), n.expanded or 0) for n in one.nodes.values())
            for one in (found, alone.trees[0])
        ]
        assert shapes[0] == shapes[1]
    assert recorder.trees[1].nodes == {}
