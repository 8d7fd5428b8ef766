from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from hips import domains
from hips.models.networks.vqvae import SubgoalModel
from hips.training.config import default_config, override
from hips.training.networks import build_networks

CODES, DIMENSION = 4, 8
CENTRES = torch.eye(DIMENSION)[:CODES]
RARE = CODES - 1


def around(which: Tensor) -> Tensor:
    """Points close to the centres `which` `[B]`, on the unit sphere."""
    noise = 0.01 * torch.randn(len(which), DIMENSION)
    return nn.functional.normalize(CENTRES[which] + noise, dim=-1)


def trained_codebook(batch: int, rare_every: int) -> SubgoalModel:
    """A model whose codes began on the centres, after batches in which the last one is rare.

    `rare_every` 0 stands for never.
    """
    domain = domains.create("sliding_tiles", height=2, width=2)
    sizes = [f"vqvae.num_codes={CODES}", f"vqvae.code_dimension={DIMENSION}"]
    config = override(default_config(domain, "smoke"), [*sizes, f"vqvae.batch={batch}"])
    torch.manual_seed(0)
    model = build_networks(domain.spec, config).subgoals.train()
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
