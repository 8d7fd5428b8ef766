"""Grids seen from an anchor: rolling, its inverse, and networks that do not care where one is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from hips import domains, parts
from hips.errors import ConfigError
from hips.models.runtime import OnnxGraph
from hips.parts.blocks.layers import CellScores, GridShape, SymbolPlanes
from hips.parts.blocks.viewpoint import Viewpoint
from hips.seeding import stream
from hips.training.config import default_config
from hips.training.contract import Examples
from hips.training.export import export_graph
from hips.training.pipeline import build_networks

HEIGHT, WIDTH, ANCHOR = 4, 5, 2
SHAPE = GridShape(HEIGHT, WIDTH, 3, 2, positions=False, anchors=(ANCHOR,))


def grid_with_anchor(row: int, column: int, others: np.ndarray) -> torch.Tensor:
    grid = others.copy()
    grid[row, column] = ANCHOR
    return torch.from_numpy(grid)


@pytest.fixture
def states() -> torch.Tensor:
    """One state for every place of the anchor."""
    rng = stream(0, "viewpoint")
    return torch.stack(
        [
            grid_with_anchor(r, c, rng.integers(0, 2, (HEIGHT, WIDTH)).astype(np.uint8))
            for r in range(HEIGHT)
            for c in range(WIDTH)
        ]
    )


def test_the_anchor_comes_to_the_middle_and_back(states: torch.Tensor) -> None:
    view = Viewpoint((ANCHOR,))
    offsets = view.offsets(states)
    rolled = view.roll(states, offsets)
    assert (rolled[:, HEIGHT // 2, WIDTH // 2] == ANCHOR).all()
    assert (view.unroll(rolled.unsqueeze(1), offsets).squeeze(1) == states).all()
    for state, seen, row, column in zip(states, rolled, *offsets, strict=True):
        expected = state[row % HEIGHT][:, column % WIDTH]
        assert (seen == expected).all()


def test_edges_mark_what_came_in_on_the_other_side(states: torch.Tensor) -> None:
    view = Viewpoint((ANCHOR,))
    offsets = view.offsets(states)
    edges = view.edges(offsets)
    for marks, row, column in zip(edges, *offsets, strict=True):
        for i in range(HEIGHT):
            for j in range(WIDTH):
                assert marks[0, i, j] == float(not 0 <= row[i] < HEIGHT)
                assert marks[1, i, j] == float(not 0 <= column[j] < WIDTH)
    middle = HEIGHT // 2 * WIDTH + WIDTH // 2
    assert edges[middle].sum() == 0


def test_a_subgoal_is_seen_from_its_state(states: torch.Tensor) -> None:
    planes = SymbolPlanes(SHAPE)
    subgoals = states.flip(0)
    offsets = Viewpoint((ANCHOR,)).offsets(states)
    rolled = Viewpoint((ANCHOR,)).roll(subgoals, offsets)
    seen = planes(subgoals, states)
    assert seen.shape[1] == SHAPE.planes == 3 + 2
    assert (seen[:, :3].argmax(dim=1) == rolled).all()


def test_scores_are_back_in_their_places(states: torch.Tensor) -> None:
    cells = CellScores(SHAPE, channels=4)
    with torch.no_grad():
        for parameter in cells.project.parameters():
            parameter.zero_()
    found = cells(torch.zeros(len(states), 4, HEIGHT, WIDTH), states)
    assert (found.argmax(dim=3) == states).all()  # only the head start is left


@pytest.mark.parametrize("downsample", [2, 3])
def test_a_folded_cell_rewrites_a_symbol_wherever_it_stands(downsample: int) -> None:
    shape = GridShape(HEIGHT, WIDTH, 3, 2, downsample=downsample, rewrites=True)
    cells = CellScores(shape, channels=1)
    assert cells.rewrites is not None
    with torch.no_grad():
        for parameter in cells.parameters():
            parameter.zero_()
        cells.rewrites.bias.view(3, 3)[1, 2] = 1.0  # 1 becomes 2
        for symbol in (0, 2):
            cells.rewrites.bias.view(3, 3)[symbol, symbol] = 1.0
    states = torch.from_numpy(stream(1, "rewrites").integers(0, 3, (6, HEIGHT, WIDTH), np.uint8))
    found = cells(torch.zeros(6, 1, *shape.cells), states).argmax(dim=3)
    assert (found == torch.where(states == 1, 2, states)).all()


def test_unfolded_cells_need_no_rewriting() -> None:
    assert CellScores(dataclasses.replace(SHAPE, rewrites=True), channels=1).rewrites is None


def test_a_border_cannot_be_rolled() -> None:
    with pytest.raises(ConfigError, match="border"):
        GridShape(HEIGHT, WIDTH, 3, 2, border=1, anchors=(ANCHOR,))


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("reach_policy", "policy"),
        ("subgoals", "decoder"),
        ("subgoals", "encoder"),
        ("heuristic", "heuristic"),
    ],
)
def test_exported_graphs_agree(part: str, name: str, tmp_path: Path) -> None:
    """Networks of a domain with anchors give the same through ONNX as in torch."""
    domain = domains.create("tsp", size=7, cities=4)
    assert domain.spec.anchors
    known = parts.known([part])
    config = default_config(domain, known, "smoke")
    network = build_networks(known, config, domain.spec)[part].eval()
    states = domain.sample(stream(0, "viewpoint", name), 5)
    spec = next(graph for graph in known[part].graphs(network) if graph.name == name)
    inputs = spec.inputs(Examples(states, states, domain.spec.num_actions))
    export_graph(spec, inputs, tmp_path / "graph.onnx", fixed_size=True)
    later = domain.sample(stream(1, "viewpoint", name), 3)
    arrays = {
        "states": later,
        "subgoals": domain.step(later, np.arange(3)),
        "parents": np.array([2, 0, 1]),
        "codes": np.array([0, 3, 1]),
    }
    given = {key: arrays[key] for key in inputs}
    with torch.no_grad():
        expected = spec.module(*(torch.from_numpy(array) for array in given.values()))
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = OnnxGraph(tmp_path / "graph.onnx")(given)
    for ours, theirs in zip(expected, found, strict=True):
        np.testing.assert_allclose(theirs, ours.numpy(), atol=1e-4)
