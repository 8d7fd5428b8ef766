"""The subgoal generator: its codebook, and what its encoder and decoder see."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from hips import domains, parts
from hips.domains import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape
from hips.parts.subgoals.config import SubgoalConfig
from hips.parts.subgoals.network import SubgoalNetwork
from hips.training.config import default_config, override
from hips.training.pipeline import build_networks

SPEC = GridSpec(4, 4, ("a", "b", "c"), ("left", "right"))
CODES, DIMENSION = 4, 8
CENTRES = torch.eye(DIMENSION)[:CODES]
RARE = CODES - 1


def around(which: Tensor) -> Tensor:
    """Points close to the centres `which` `[B]`, on the unit sphere."""
    noise = 0.01 * torch.randn(len(which), DIMENSION)
    return nn.functional.normalize(CENTRES[which] + noise, dim=-1)


def make_model(*settings: str) -> SubgoalNetwork:
    """A network in training with few, short codes."""
    domain = domains.create("sliding_tiles", height=2, width=2)
    sizes = [f"subgoals.num_codes={CODES}", f"subgoals.code_dimension={DIMENSION}"]
    known = parts.known(["subgoals"])
    config = override(default_config(domain, known, "smoke"), [*sizes, *settings])
    network = build_networks(known, config, domain.spec)["subgoals"]
    assert isinstance(network, SubgoalNetwork)
    return network.train()


def trained_codebook(batch: int, rare_every: int) -> SubgoalNetwork:
    """A model whose codes began on the centres, after batches in which the last one is rare.

    `rare_every` 0 stands for never.
    """
    model = make_model(f"subgoals.discrete.batch={batch}")
    torch.manual_seed(0)
    planted = {
        "_codebook.initted": torch.tensor(True),
        "_codebook.embed": CENTRES[None],
        "_codebook.embed_avg": CENTRES[None],
        "_codebook.cluster_size": torch.full((1, CODES), batch / CODES),
    }
    model.codebook.load_state_dict(model.codebook.state_dict() | planted)
    for step in range(400):
        which = torch.arange(batch) % RARE
        if rare_every and step % rare_every == 0:
            which[0] = RARE
        model.quantise(around(which))
    return model


# A tenth of the mean use is 0.4 in batches of 16 and 1.6 in batches of 64.
@pytest.mark.parametrize(
    ("batch", "rare_every", "kept"), [(16, 0, False), (16, 2, True), (16, 5, False), (64, 2, False)]
)
def test_codes_below_a_tenth_of_the_mean_use_become_samples(
    batch: int, rare_every: int, kept: bool
) -> None:
    model = trained_codebook(batch, rare_every)
    assert (model.code_vectors[:RARE] @ CENTRES[:RARE].T).diag().min() > 0.99
    similarity = CENTRES @ model.code_vectors[RARE]
    assert similarity.max() > 0.99
    assert (int(similarity.argmax()) == RARE) is kept


def test_kmeans_finds_known_clusters_and_gradients_pass_straight_through() -> None:
    model = make_model()
    torch.manual_seed(0)
    points = around(torch.arange(256) % CODES)
    model.quantise(points)
    similarity = nn.functional.normalize(model.code_vectors, dim=-1) @ CENTRES.T
    assert (similarity.max(dim=0).values > 0.99).all()
    points.requires_grad_(True)
    quantised, indices, _ = model.quantise(points)
    assert len(indices.unique()) == CODES
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


def _subgoal_model(changes: bool = False, scaled_codes: bool = False) -> SubgoalNetwork:
    torch.manual_seed(0)
    config = SubgoalConfig(
        TrunkConfig(8, 1),
        num_codes=4,
        code_dimension=9,
        changes=changes,
        scaled_codes=scaled_codes,
    )
    return SubgoalNetwork(GridShape.of(SPEC, config.trunk), config).eval()
