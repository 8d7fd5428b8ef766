"""Shapes, gradients and symmetries of the networks of all parts, in every domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hips import domains, parts
from hips.errors import ConfigError
from hips.parts.blocks.layers import GridShape, SymbolPlanes
from hips.seeding import stream
from hips.training.config import default_config, override
from hips.training.pipeline import build_networks
from tests.training.conftest import SHIPPED

BATCH = 6
DOMAINS = ("box_world", "sliding_tiles", "sokoban", "tsp")
PARTS = parts.known(SHIPPED)


def make(part: str, name: str, *settings: str) -> tuple[domains.Domain, Any, torch.Tensor]:
    """A domain, the network of a part, and some states."""
    domain = domains.create(name)
    known = {part: PARTS[part]}
    config = override(default_config(domain, known, "smoke"), settings)
    states = torch.from_numpy(domain.sample(stream(0, "networks"), BATCH))
    return domain, build_networks(known, config, domain.spec)[part], states


def all_have_gradients(module: nn.Module, loss: torch.Tensor) -> None:
    loss.backward()
    missing = [name for name, value in module.named_parameters() if value.grad is None]
    assert missing == []


@pytest.mark.parametrize("name", DOMAINS)
def test_reach_policy(name: str) -> None:
    domain, policy, states = make("reach_policy", name)
    log_probabilities, reachable = policy.foresee(states, states.roll(1, 0))
    assert log_probabilities.equal(policy(states, states.roll(1, 0)))
    assert reachable.shape == (BATCH,)
    chunk = domain.preset.horizon
    assert log_probabilities.shape == (BATCH, chunk, domain.spec.num_actions)
    assert torch.allclose(log_probabilities.exp().sum(-1), torch.ones(BATCH, chunk), atol=1e-5)
    all_have_gradients(policy, log_probabilities[..., 0].sum() + reachable.sum())


@pytest.mark.parametrize("name", DOMAINS)
def test_subgoals(name: str) -> None:
    domain, model, states = make("subgoals", name)
    codes = model.encode(states, states.roll(1, 0))
    assert codes.shape == (BATCH, domain.preset.code_dimension)
    assert torch.allclose(codes.norm(dim=-1), torch.ones(BATCH), atol=1e-5)
    scores = model.decode(model.features(states), codes, states)
    assert scores.shape == (BATCH, *domain.spec.shape, domain.spec.num_symbols)
    all_have_gradients(model, scores.sum())


@pytest.mark.parametrize("name", DOMAINS)
def test_prior(name: str) -> None:
    domain, prior, states = make("prior", name)
    codes, actions = prior(states)
    assert codes.shape == (BATCH, domain.preset.num_codes)
    assert actions.shape == (BATCH, domain.spec.num_actions)
    for found in (codes, actions):
        assert torch.allclose(found.exp().sum(-1), torch.ones(BATCH), atol=1e-5)
    all_have_gradients(prior, codes[:, 0].sum() + actions[:, 0].sum())


@pytest.mark.parametrize("name", DOMAINS)
def test_heuristic(name: str) -> None:
    _, heuristic, states = make("heuristic", name)
    distances = heuristic(states)
    assert distances.shape == (BATCH,)
    assert (distances >= 0).all()
    all_have_gradients(heuristic, distances.sum())


@pytest.mark.parametrize("name", DOMAINS)
def test_dynamics(name: str) -> None:
    domain, dynamics, states = make("dynamics", name)
    scores = dynamics(states, torch.zeros(BATCH, dtype=torch.long))
    assert scores.shape == (BATCH, *domain.spec.shape, domain.spec.num_symbols)
    all_have_gradients(dynamics, scores.sum())


@pytest.mark.parametrize("name", DOMAINS)
def test_detector(name: str) -> None:
    domain, detector, states = make("detector", name)
    offsets = np.array([0, BATCH - 1, BATCH])
    log_q = detector.log_q(states, offsets)
    assert log_q.shape == (BATCH, domain.preset.horizon)
    scores = detector(states, states.flip(0))
    assert scores.shape == (BATCH,)
    all_have_gradients(detector, scores.sum())


def test_planes_fold_and_crop() -> None:
    shape = GridShape(5, 7, 4, 2, border=0, downsample=2, positions=False)
    states = torch.randint(0, 4, (3, 5, 7), dtype=torch.uint8)
    planes = SymbolPlanes(shape)(states)
    assert planes.shape == (3, 16, *shape.cells)
    assert shape.cells == (3, 4)
    assert planes.sum() == 3 * 5 * 7  # one symbol in every cell, none in the padding
    bordered = GridShape(5, 7, 4, 2, border=1)
    assert SymbolPlanes(bordered)(states).shape == (3, 3, 3, 5)


@pytest.mark.parametrize("part", SHIPPED)
def test_without_positions_any_size_is_taken(part: str) -> None:
    larger = torch.zeros(2, 14, 17, dtype=torch.uint8)
    for positions in (False, True):
        _, network, _ = make(part, "sokoban", f"{part}.trunk.positions={positions}")
        network.eval()
        config = default_config(domains.create("sokoban"), {part: PARTS[part]}, "smoke")
        chosen = override(config, [f"{part}.trunk.positions={positions}"]).parts[part]
        assert PARTS[part].takes_any_size(chosen) is not positions
        if positions:
            with pytest.raises(RuntimeError, match="size of tensor"):
                ask(part, network, larger)
        else:
            assert len(ask(part, network, larger)) == 2


def ask(part: str, network: Any, states: torch.Tensor) -> torch.Tensor:
    """The first output of a network for some states."""
    if part == "reach_policy":
        found: torch.Tensor = network(states, states)
    elif part == "detector":
        found = network(states, states)
    elif part == "subgoals":
        found = network.decode(network.features(states), network.encode(states, states), states)
    elif part == "dynamics":
        found = network(states, torch.zeros(len(states), dtype=torch.long))
    else:
        answer = network(states)
        found = answer[0] if isinstance(answer, tuple) else answer
    return found


@pytest.mark.parametrize("part", SHIPPED)
def test_weights_of_a_part_do_not_depend_on_the_other_parts(part: str) -> None:
    """Each part draws from a stream of its own name, whichever others are trained."""
    domain = domains.create("sliding_tiles", height=3, width=3)
    alone, together, backwards = (
        build_networks(known, default_config(domain, known, "smoke", seed=3), domain.spec)[part]
        for known in (
            {part: PARTS[part]},
            PARTS,
            {name: PARTS[name] for name in reversed(SHIPPED)},
        )
    )
    other = build_networks(
        {part: PARTS[part]}, default_config(domain, {part: PARTS[part]}, "smoke"), domain.spec
    )[part]
    for name, value in alone.state_dict().items():
        assert torch.equal(value, together.state_dict()[name]), name
        assert torch.equal(value, backwards.state_dict()[name]), name
    assert any(
        not torch.equal(value, other.state_dict()[name])
        for name, value in alone.state_dict().items()
    )


def test_parts_of_equal_sizes_have_different_weights() -> None:
    domain = domains.create("sliding_tiles", height=3, width=3)
    networks = build_networks(PARTS, default_config(domain, PARTS, "smoke"), domain.spec)
    prior, heuristic = (networks[name].state_dict() for name in ("prior", "heuristic"))
    assert prior["trunk.stem.weight"].shape == heuristic["trunk.stem.weight"].shape
    assert not torch.equal(prior["trunk.stem.weight"], heuristic["trunk.stem.weight"])


def test_a_grid_that_folds_away_is_refused() -> None:
    with pytest.raises(ConfigError, match="leaves no cell"):
        GridShape(2, 2, 3, 2, border=1)
