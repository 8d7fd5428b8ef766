"""Relations between distant cells, against what they say of themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from hips import domains, parts
from hips.errors import ConfigError
from hips.models import bundle
from hips.parts.blocks.layers import GridShape, SymbolPlanes
from hips.parts.blocks.relations import SHARPNESS, CopiedSymbols, Matches, SameSymbols, log_of_sum
from hips.parts.dynamics.adapter import LearnedDynamics
from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.parts.subgoals.adapter import decode
from hips.seeding import stream
from hips.training.config import default_config, override
from hips.training.pipeline import build_networks
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


def test_the_log_of_a_sum_is_safe_for_large_scores() -> None:
    first, second = torch.tensor([0.0, 500.0, -500.0]), torch.tensor([0.0, -500.0, -501.0])
    torch.testing.assert_close(log_of_sum(first, second), torch.logaddexp(first, second))


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


def network(domain: domains.Domain, part: str, *settings: str) -> Any:
    known = parts.known([part])
    config = override(default_config(domain, known, "smoke"), settings)
    return build_networks(known, config, domain.spec)[part]


def test_relations_need_single_cells_at_fixed_places() -> None:
    tiles = domains.create("sliding_tiles")
    folded = ("dynamics.relations=1", "dynamics.trunk.downsample=2")
    with pytest.raises(ConfigError, match=r"dynamics\.relations lets single cells copy"):
        network(tiles, "dynamics", *folded)
    for part in ("dynamics", "subgoals"):
        anywhere = (f"{part}.relations=1", f"{part}.trunk.positions=false")
        with pytest.raises(ConfigError, match="relations compare cells with fixed places"):
            network(tiles, part, *anywhere)
        with pytest.raises(ConfigError, match="0 or more"):
            network(tiles, part, f"{part}.relations=-1")


def test_relations_of_subgoals_need_a_domain_without_anchors() -> None:
    tsp = domains.create("tsp", size=7, cities=4)
    assert tsp.spec.anchors
    with pytest.raises(ConfigError, match="without anchors"):
        network(tsp, "subgoals", "subgoals.relations=1")


@pytest.mark.parametrize("part", ["dynamics", "prior", "heuristic", "subgoals"])
def test_networks_with_relations_have_gradients_everywhere(part: str) -> None:
    tiles = domains.create("sliding_tiles", height=3, width=3)
    related = part in ("dynamics", "subgoals")
    settings = [f"{part}.relations=2"] if related else [f"{part}.trunk.same_symbols=true"]
    made = network(tiles, part, *settings)
    plain = network(tiles, part)
    assert len(made.state_dict()) > len(plain.state_dict())
    states = _grids(4, 3, 3, 9)
    if part == "dynamics":
        scores = made(states, torch.zeros(4, dtype=torch.long))
        assert scores.shape == (4, 3, 3, tiles.spec.num_symbols)
    elif part == "subgoals":
        scores = made.decode(made.features(states), made.encode(states, states.roll(1, 0)), states)
        assert scores.shape == (4, 3, 3, tiles.spec.num_symbols)
    elif part == "prior":
        codes, actions = made(states)
        scores = codes[:, 0] + actions[:, 0]
    else:
        scores = made(states)
    scores.sum().backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        assert math.isfinite(float(parameter.grad.abs().sum()))


def test_exported_networks_with_relations_take_any_number_of_states(tmp_path: Path) -> None:
    tiles = domains.create("sliding_tiles", height=3, width=3)
    settings = [
        "dynamics.relations=2",
        "subgoals.relations=2",
        "heuristic.trunk.same_symbols=true",
    ]
    known = parts.known(["dynamics", "subgoals", "heuristic"])
    config = override(default_config(tiles, known, "smoke"), settings)
    networks = {name: one.eval() for name, one in export_untrained(tiles, config, tmp_path).items()}
    runtime = bundle.load(tmp_path, tiles).runtime()
    states = tiles.sample(stream(0, "relations"), 3)
    actions = np.arange(3)
    with torch.no_grad():
        scores = networks["dynamics"](torch.from_numpy(states), torch.from_numpy(actions))
        expected = networks["heuristic"](torch.from_numpy(states)).numpy()
    following = LearnedDynamics(runtime).step(states, actions)
    np.testing.assert_array_equal(following, scores.argmax(dim=-1).numpy())
    np.testing.assert_allclose(LearnedHeuristic(runtime).distances(states), expected, rtol=1e-4)
    assert decode(runtime, states, np.zeros(5, np.int64), np.arange(5)).shape[0] == 5
