"""Relations between distant cells, against what they say of themselves."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from hips import domains
from hips.errors import ConfigError
from hips.models import bundle
from hips.models.networks.layers import GridShape, SymbolPlanes
from hips.models.networks.relations import SHARPNESS, CopiedSymbols, Matches, SameSymbols
from hips.seeding import stream
from hips.training.config import default_config, override
from hips.training.networks import build_networks
from tests.models.untrained import export_untrained


def _grids(count: int, height: int, width: int, symbols: int) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(5)
    return torch.randint(symbols, (count, height, width), generator=drawn, dtype=torch.uint8)


def test_matches_marks_the_cells_that_show_what_a_place_shows() -> None:
    states = _grids(4, 3, 5, 3)
    planes = SymbolPlanes(GridShape(3, 5, 3, 2))(states)
    matches = Matches(2, symbols=3, cells=15)
    with torch.no_grad():
        matches.places[0, 0] = 1.0 / SHARPNESS
        matches.places[1, 7] = 1.0 / SHARPNESS
    found = matches(planes)
    assert found.shape == (4, 2, 3, 5)
    torch.testing.assert_close(found[:, 0], (states == states[:, :1, :1]).float())
    torch.testing.assert_close(found[:, 1], (states == states[:, 1:2, 2:3]).float())


def test_matches_of_a_folded_grid() -> None:
    states = _grids(4, 4, 6, 3)
    shape = GridShape(4, 6, 3, 2, downsample=2)
    matches = shape.matches(1)
    assert matches is not None
    with torch.no_grad():
        matches.places[0, 0] = 1.0 / SHARPNESS  # the first part of the first folded cell
    found = functional.pixel_shuffle(matches(SymbolPlanes(shape)(states)), 2)
    torch.testing.assert_close(found[:, 0], (states == states[:, :1, :1]).float())


def test_a_cell_can_copy_the_symbol_of_any_other_cell() -> None:
    """Keys that single one cell out, and queries that look for it."""
    copied = CopiedSymbols(channels=2, width=2)
    with torch.no_grad():
        for part in (copied.query, copied.key, copied.takes, copied.gives):
            part.weight.zero_()
            assert part.bias is not None
            part.bias.zero_()
        copied.query.weight[0, 0] = 20.0
        copied.key.weight[0, 1] = 20.0
    states = torch.tensor([[[0, 1], [2, 1]]], dtype=torch.uint8)
    planes = SymbolPlanes(GridShape(2, 2, 4, 2))(states)
    features = torch.zeros(1, 2, 2, 2)
    features[0, 0, 0, 0] = 1.0  # the cell that takes
    features[0, 1, 1, 0] = 1.0  # the cell that gives
    scores = copied(features, planes)
    assert scores.shape == (1, 2, 2, 4)
    assert int(scores[0, 0, 0].argmax()) == 2
    # A cell that looks for nothing weighs all cells alike; a symbol that nobody shows stays out.
    even = functional.softmax(scores[0, 1, 1], dim=-1)
    torch.testing.assert_close(even, torch.tensor([0.25, 0.5, 0.25, 0.0]), atol=1e-6, rtol=0.0)


@pytest.mark.parametrize(("fold", "border"), [(1, 0), (2, 0), (1, 1)])
def test_cells_hear_the_mean_of_the_others_with_their_symbol(fold: int, border: int) -> None:
    shape = GridShape(5, 6, 4, 2, border=border, downsample=fold)
    states = _grids(3, 5, 6, 4)
    planes = SymbolPlanes(shape)(states)
    layer = SameSymbols(8, shape.shown_symbols, fold)
    rows, columns = shape.cells
    features = torch.randn(3, 8, rows, columns, generator=torch.Generator().manual_seed(1))
    found = layer(features, planes)

    cells = features.flatten(2).transpose(1, 2)
    said = layer.say(layer.norm(cells)).view(3, rows * columns, fold**2, layer.width)
    inner = planes.view(3, shape.shown_symbols, fold**2, rows * columns)
    heard = torch.zeros_like(said)
    for b in range(3):
        shown = [
            [int(inner[b, :, part, cell].argmax()) if inner[b, :, part, cell].any() else None]
            for cell in range(rows * columns)
            for part in range(fold**2)
        ]
        for i, (symbol,) in enumerate(shown):
            others = [j for j, (other,) in enumerate(shown) if other == symbol and j != i]
            if symbol is not None and others:
                voices = torch.stack([said[b, j // fold**2, j % fold**2] for j in others])
                heard[b, i // fold**2, i % fold**2] = voices.mean(dim=0)
    mixed = layer.hear(heard.flatten(2)).transpose(1, 2).view_as(features)
    torch.testing.assert_close(found, features + mixed, atol=1e-5, rtol=1e-4)


def test_relations_need_single_cells_at_fixed_places() -> None:
    tiles = domains.create("sliding_tiles")
    folded = ["network.dynamics_relations=1", "network.dynamics_downsample=2"]
    with pytest.raises(ConfigError, match="dynamics_relations lets single cells copy"):
        build_networks(tiles.spec, override(default_config(tiles, "smoke"), folded))
    for name in ("network.dynamics_relations", "network.subgoal_relations"):
        anywhere = [f"{name}=1", "network.positions=false"]
        with pytest.raises(ConfigError, match=f"{name} compares cells with fixed places"):
            build_networks(tiles.spec, override(default_config(tiles, "smoke"), anywhere))
    config = override(default_config(tiles, "smoke"), ["network.dynamics_relations=-1"])
    with pytest.raises(ConfigError, match="0 or more"):
        build_networks(tiles.spec, config)


def test_networks_with_relations_have_gradients_everywhere() -> None:
    tiles = domains.create("sliding_tiles", height=3, width=3)
    settings = ["network.dynamics_relations=2", "network.same_symbols=true"]
    networks = build_networks(tiles.spec, override(default_config(tiles, "smoke"), settings))
    states = _grids(4, 3, 3, 9)
    scores = networks.dynamics(states, torch.zeros(4, dtype=torch.long))
    assert scores.shape == (4, 3, 3, tiles.spec.num_symbols)
    decoder = override(default_config(tiles, "smoke"), ["network.subgoal_relations=2"])
    decoded = build_networks(tiles.spec, decoder).subgoals.features(states)
    assert decoded.shape[0] == 4
    codes, actions = networks.prior(states)
    (scores.sum() + codes[:, 0].sum() + actions[:, 0].sum()).backward()
    for name in ("dynamics", "prior"):
        for inner, parameter in getattr(networks, name).named_parameters():
            assert parameter.grad is not None, (name, inner)
            assert math.isfinite(float(parameter.grad.abs().sum()))


def test_exported_networks_with_relations_take_any_number_of_states(tmp_path: Path) -> None:
    tiles = domains.create("sliding_tiles", height=3, width=3)
    settings = ["dynamics_relations=2", "subgoal_relations=2", "same_symbols=true"]
    config = override(default_config(tiles, "smoke"), [f"network.{each}" for each in settings])
    networks = export_untrained(tiles, config, tmp_path).eval()
    runtime = bundle.load(tmp_path, tiles).runtime
    states = tiles.sample(stream(0, "relations"), 3)
    actions = np.arange(3)
    with torch.no_grad():
        scores = networks.dynamics(torch.from_numpy(states), torch.from_numpy(actions))
        expected = networks.heuristic(torch.from_numpy(states))
    np.testing.assert_array_equal(runtime.dynamics(states, actions), scores.argmax(dim=-1).numpy())
    np.testing.assert_allclose(runtime.heuristic(states), expected.numpy(), rtol=0.1)
    assert runtime.decode(states, np.zeros(5, np.int64), np.arange(5)).shape[0] == 5
