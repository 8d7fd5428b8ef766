"""Cells that take the symbols of their neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hips import domains, parts
from hips.models.runtime import OnnxGraph
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import CellScores, GridShape
from hips.seeding import stream
from hips.training.config import default_config, override
from hips.training.contract import Examples
from hips.training.export import export_graph
from tests.models.untrained import untrained

SURE = 20.0
HEIGHT, WIDTH, SYMBOLS, CHANNELS = 5, 7, 4, 8


def make_cells(border: int, downsample: int, motion: int, channels: int = CHANNELS) -> CellScores:
    shape = GridShape(
        HEIGHT, WIDTH, SYMBOLS, 2, border=border, downsample=downsample, motion=motion
    )
    torch.manual_seed(0)
    return CellScores(shape, channels)


def indifferent(cells: CellScores) -> CellScores:
    """The same head with nothing but its head start: every cell keeps its symbol."""
    assert cells.origins is not None
    with torch.no_grad():
        for layer in (cells.project, cells.origins):
            assert layer.bias is not None
            layer.weight.zero_()
            layer.bias.zero_()
    return cells


def random_grids(border: int, count: int = 3) -> Tensor:
    grids = torch.zeros(count, HEIGHT, WIDTH, dtype=torch.uint8)
    inner = (count, HEIGHT - 2 * border, WIDTH - 2 * border)
    torch.manual_seed(1)
    grids[:, border : HEIGHT - border, border : WIDTH - border] = torch.randint(
        1, SYMBOLS, inner, dtype=torch.uint8
    )
    return grids


def shifted(grids: Tensor, rows: int, columns: int, border: int) -> Tensor:
    """Each inner cell takes the symbol `rows` down and `columns` right, if there is such a cell."""
    moved = grids.clone()
    for r in range(border, HEIGHT - border):
        for c in range(border, WIDTH - border):
            if 0 <= r + rows < HEIGHT and 0 <= c + columns < WIDTH:
                moved[:, r, c] = grids[:, r + rows, c + columns]
    return moved


@pytest.mark.parametrize("border", [0, 1])
@pytest.mark.parametrize("downsample", [1, 2, 3])
@pytest.mark.parametrize("motion", [0, 1, 2])
def test_shapes_and_gradients(border: int, downsample: int, motion: int) -> None:
    cells = make_cells(border, downsample, motion)
    grids = random_grids(border)
    features = torch.randn(3, CHANNELS, *cells.shape.cells, requires_grad=True)
    scores = cells(features, grids)
    assert scores.shape == (3, HEIGHT, WIDTH, SYMBOLS)
    torch.nn.functional.cross_entropy(scores.flatten(0, 2), grids.long().flatten()).backward()
    names = {name.split(".")[0] for name, _ in cells.named_parameters()}
    assert names == {"project", "head_start", *(["origins"] if motion else [])}
    for name, parameter in cells.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    assert features.grad is not None
    assert (features.grad.abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize("border", [0, 1])
@pytest.mark.parametrize("downsample", [1, 2])
@pytest.mark.parametrize("motion", [1, 2])
def test_a_cell_takes_the_symbol_of_the_neighbour_it_chooses(
    border: int, downsample: int, motion: int
) -> None:
    cells = indifferent(make_cells(border, downsample, motion))
    assert cells.origins is not None
    assert cells.origins.bias is not None
    grids = random_grids(border)
    features = torch.zeros(3, CHANNELS, *cells.shape.cells)
    assert (cells(features, grids).argmax(dim=-1) == grids).all()
    reach = range(-motion, motion + 1)
    for offset, (rows, columns) in enumerate((r, c) for r in reach for c in reach):
        with torch.no_grad():
            weights = cells.origins.bias.view(-1, downsample**2)
            weights.zero_()
            weights[offset] = SURE
        found = cells(features, grids).argmax(dim=-1)
        assert (found == shifted(grids, rows, columns, border)).all(), (rows, columns)


def test_cells_choose_apart_as_in_a_move_of_the_sliding_puzzle() -> None:
    """The blank changes places with the tile to its right: two cells choose, the others stay."""
    tiles = domains.create("sliding_tiles", height=2, width=3)
    before = np.array([[[1, 0, 2], [3, 4, 5]]], dtype=np.uint8)
    after = tiles.step(before, np.array([tiles.spec.actions.index("right")]))
    assert after[0, 0].tolist() == [1, 2, 0]
    cells = indifferent(CellScores(GridShape.of(tiles.spec, TrunkConfig(motion=1)), 2))
    assert cells.origins is not None
    right, left = 5, 3  # of the nine offsets, row by row
    with torch.no_grad():
        cells.origins.weight[right, 0] = SURE
        cells.origins.weight[left, 1] = SURE
    features = torch.zeros(1, 2, 2, 3)
    features[0, 0, 0, 1] = 1.0
    features[0, 1, 0, 2] = 1.0
    found = cells(features, torch.from_numpy(before)).argmax(dim=-1)
    assert (found.numpy() == after).all()


@pytest.mark.parametrize("downsample", [1, 2])
def test_nothing_moves_onto_the_border(downsample: int) -> None:
    cells = make_cells(1, downsample, 2)
    with torch.no_grad():
        for parameter in cells.parameters():
            parameter.mul_(10.0)
    grids = random_grids(1)
    chances = cells(torch.randn(3, CHANNELS, *cells.shape.cells), grids).softmax(dim=-1)
    rim = torch.ones(HEIGHT, WIDTH, dtype=torch.bool)
    rim[1:-1, 1:-1] = False
    assert (chances[:, rim, 0] > 0.999).all()


@pytest.mark.parametrize(("name", "positions"), [("sokoban", False), ("sliding_tiles", True)])
def test_the_exported_decoder_moves_symbols_too(name: str, positions: bool, tmp_path: Path) -> None:
    """Sokoban has a border and here a network for levels of any size; the puzzle has neither."""
    domain = domains.create(name)
    known = parts.known(["subgoals"])
    settings = ["trunk.motion=1", "num_codes=5", f"trunk.positions={positions}"]
    config = override(
        default_config(domain, known, "smoke"), [f"subgoals.{each}" for each in settings]
    )
    network: Any = untrained(domain, config)["subgoals"]
    assert network.cells.origins is not None
    states = domain.sample(stream(0, "export"), 4)
    spec = next(graph for graph in known["subgoals"].graphs(network) if graph.name == "decoder")
    inputs = spec.inputs(Examples(states, states, domain.spec.num_actions))
    export_graph(spec, inputs, tmp_path / "decoder.onnx", fixed_size=positions)
    other = domain if positions else domains.create(name, height=8, width=13)
    grids = other.sample(stream(1, "export"), 3)
    parents, codes = np.array([0, 2, 1, 2, 0, 1, 2]), np.array([0, 1, 2, 3, 4, 0, 1])
    asked = {"states": grids, "parents": parents, "codes": codes}
    found = OnnxGraph(tmp_path / "decoder.onnx")(asked)[0]
    with torch.no_grad():
        expected = spec.module(*(torch.from_numpy(value) for value in asked.values())).numpy()
    assert found.shape == (7, *other.spec.shape, other.spec.num_symbols)
    np.testing.assert_allclose(found, expected, atol=1e-3)
