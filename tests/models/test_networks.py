from __future__ import annotations

import math
from unittest.mock import patch

import pytest
import torch
from torch import nn

from hips import domains
from hips.errors import ConfigError
from hips.models.networks.assembly import Networks
from hips.models.networks.heads import Heuristic
from hips.models.networks.layers import GridShape, SymbolPlanes
from hips.models.networks.vqvae import SubgoalModel
from hips.seeding import stream
from hips.training.config import default_config, override
from hips.training.networks import build_networks

BATCH = 6


def _networks(name: str) -> tuple[domains.Domain, Networks, torch.Tensor]:
    domain = domains.create(name)
    states = torch.from_numpy(domain.sample(stream(0, "networks"), BATCH))
    return domain, build_networks(domain.spec, default_config(domain, "smoke")), states


def _all_have_gradients(module: nn.Module, loss: torch.Tensor, skip: tuple[str, ...] = ()) -> None:
    loss.backward()
    missing = [
        name
        for name, parameter in module.named_parameters()
        if parameter.grad is None and not name.startswith(skip)
    ]
    assert missing == []


@pytest.mark.parametrize("name", domains.names())
def test_policy(name: str) -> None:
    domain, networks, states = _networks(name)
    log_probabilities, reachable = networks.policy.foresee(states, states.roll(1, 0))
    assert log_probabilities.equal(networks.policy(states, states.roll(1, 0)))
    assert reachable.shape == (BATCH,)
    chunk = networks.policy.chunk
    assert log_probabilities.shape == (BATCH, chunk, domain.spec.num_actions)
    assert torch.allclose(log_probabilities.exp().sum(-1), torch.ones(BATCH, chunk), atol=1e-5)
    _all_have_gradients(networks.policy, log_probabilities[..., 0].sum() + reachable.sum())


@pytest.mark.parametrize("name", domains.names())
def test_subgoal_model(name: str) -> None:
    domain, networks, states = _networks(name)
    model = networks.subgoals
    codes = model.encode(states, states.roll(1, 0))
    assert torch.allclose(codes.norm(dim=-1), torch.ones(BATCH), atol=1e-5)
    scores = model.decode(model.features(states), codes, states)
    assert scores.shape == (BATCH, *domain.spec.shape, domain.spec.num_symbols)
    _all_have_gradients(model, scores.sum())


def _distances(heuristic: Heuristic, mixtures: list[dict[int, float]]) -> list[float]:
    """What is read from chances of some distances, the rest of them being 0."""
    chances = torch.zeros(len(mixtures), len(heuristic.centres))
    for row, mixture in enumerate(mixtures):
        for distance, chance in mixture.items():
            chances[row, (heuristic.centres - distance).abs().argmin()] = chance
    with patch.object(heuristic, "logits", return_value=chances.log()):
        return [float(value) for value in heuristic(torch.zeros(1))]


def test_a_likely_dead_end_waits_behind_every_living_state() -> None:
    heuristic = _networks("sokoban")[1].heuristic
    far = heuristic.max_distance
    living, doubtful, likely, sure = _distances(
        heuristic,
        [{20: 1.0}, {20: 0.6, far: 0.4}, {20: 0.1, far: 0.9}, {20: 1e-4, far: 1 - 1e-4}],
    )
    assert living == pytest.approx(20, abs=1)
    assert doubtful == pytest.approx(0.6 * 20 + 0.4 * far, abs=1)
    assert doubtful < far < likely < sure < 20 * far
    assert likely == pytest.approx(0.1 * 20 + 0.9 * far + far * math.log(5), rel=0.02)


@pytest.mark.parametrize("name", domains.names())
def test_prior_heuristic_dynamics_detector(name: str) -> None:
    domain, networks, states = _networks(name)
    codes, actions = networks.prior(states)
    assert codes.shape == (BATCH, domain.preset.num_codes)
    assert actions.shape == (BATCH, domain.spec.num_actions)
    _all_have_gradients(networks.prior, codes[:, 0].sum() + actions[:, 0].sum())
    distances = networks.heuristic(states)
    assert distances.shape == (BATCH,)
    assert (distances >= 0).all()
    _all_have_gradients(networks.heuristic, distances.sum())
    scores = networks.dynamics(states, torch.zeros(BATCH, dtype=torch.long))
    assert scores.shape == (BATCH, *domain.spec.shape, domain.spec.num_symbols)
    _all_have_gradients(networks.dynamics, scores.sum())
    queries, keys, values = networks.detector.embed(states)
    assert queries.shape == keys.shape == (BATCH, networks.detector.width)
    logits = networks.detector.score(queries, keys.unsqueeze(1))
    _all_have_gradients(networks.detector, logits.sum() + values.sum())


def test_planes_fold_and_crop() -> None:
    shape = GridShape(5, 7, 4, 2, border=0, downsample=2, positions=False)
    states = torch.randint(0, 4, (3, 5, 7), dtype=torch.uint8)
    planes = SymbolPlanes(shape)(states)
    assert planes.shape == (3, 16, *shape.cells)
    assert shape.cells == (3, 4)
    assert planes.sum() == 3 * 5 * 7  # one symbol in every cell, none in the padding
    bordered = GridShape(5, 7, 4, 2, border=1)
    assert SymbolPlanes(bordered)(states).shape == (3, 3, 3, 5)


def test_without_positions_any_size_is_taken() -> None:
    domain = domains.create("sokoban")
    config = override(default_config(domain, "smoke"), ["network.positions=false"])
    networks = build_networks(domain.spec, config).eval()
    larger = torch.zeros(2, 14, 17, dtype=torch.uint8)
    assert networks.heuristic(larger).shape == (2,)
    assert networks.policy(larger, larger).shape[0] == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [("network.channels=30", "multiple of 4"), ("vqvae.num_codes=1", "num_codes 2")],
)
def test_sizes_that_cannot_be_are_refused(setting: str, message: str) -> None:
    domain = domains.create("sliding_tiles")
    config = override(default_config(domain, "smoke"), [setting])
    with pytest.raises(ConfigError, match=message):
        build_networks(domain.spec, config)


def test_kmeans_finds_known_clusters_and_gradients_pass_straight_through() -> None:
    domain = domains.create("sliding_tiles", height=2, width=2)
    config = override(
        default_config(domain, "smoke"), ["vqvae.num_codes=4", "vqvae.code_dimension=8"]
    )
    model = build_networks(domain.spec, config).subgoals.train()
    torch.manual_seed(0)
    centres = torch.eye(8)[:4]
    points = nn.functional.normalize(centres.repeat(64, 1) + 0.01 * torch.randn(256, 8), dim=-1)
    model.quantise(points)
    similarity = nn.functional.normalize(model.code_vectors, dim=-1) @ centres.T
    assert (similarity.max(dim=0).values > 0.99).all()
    points.requires_grad_(True)
    model.eval()
    model.train()
    quantised, indices, _ = model.quantise(points)
    assert len(indices.unique()) == 4
    quantised.sum().backward()
    assert points.grad is not None
    assert points.grad.abs().sum() > 0


def test_an_encoder_of_changes_sees_nothing_where_nothing_changes() -> None:
    """Cells that stay are hidden from it: other surroundings, same change, same code."""
    model = _subgoal_model(changes=True)
    here = torch.zeros(2, 4, 4, dtype=torch.uint8)
    here[1, 3] = 2
    later = here.clone()
    later[:, 0, 0] = 1
    codes = model.encode(here, later)
    torch.testing.assert_close(codes[0], codes[1])
    seeing = _subgoal_model(changes=False).encode(here, later)
    assert (seeing[0] - seeing[1]).abs().max() > 1e-4


def test_scaled_codes_reach_the_decoder_longer() -> None:
    states = torch.zeros(1, 4, 4, dtype=torch.uint8)
    codes = torch.nn.functional.normalize(torch.ones(1, 9), dim=-1)
    scaled, plain = _subgoal_model(scaled_codes=True), _subgoal_model(scaled_codes=False)
    plain.load_state_dict(scaled.state_dict())
    features = scaled.features(states)
    torch.testing.assert_close(
        scaled.decode(features, codes, states), plain.decode(features, 3.0 * codes, states)
    )


def _subgoal_model(changes: bool = False, scaled_codes: bool = False) -> SubgoalModel:
    torch.manual_seed(0)
    model = SubgoalModel(
        GridShape(4, 4, 3, 2), 8, 1, 0, num_codes=4, code_dimension=9, commitment=0.1,
        changes=changes, scaled_codes=scaled_codes,
    )  # fmt: skip
    return model.eval()
