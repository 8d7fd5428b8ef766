"""Dense layers over all cells: they move distant symbols, compare grids, and export."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from hips.domains.base import GridSpec
from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Trunk
from hips.parts.blocks.mixing import CopyScores, MixingTrunk, make_pair_trunk, make_trunk
from hips.parts.dynamics.network import DynamicsNetwork
from hips.training.weights import with_idle_blocks

SPEC = GridSpec(2, 6, tuple("abcdef"), ("reverse", "roll"))
MIXING = TrunkConfig(8, 1, mixing=True, hidden=64, copies=True)


def shape(config: TrunkConfig = MIXING) -> GridShape:
    return GridShape.of(SPEC, config)


def test_the_configuration_decides_the_kind_of_trunk() -> None:
    assert isinstance(make_trunk(shape(), 6, MIXING), MixingTrunk)
    assert isinstance(make_trunk(shape(), 6, TrunkConfig(8, 1)), Trunk)
    assert isinstance(make_pair_trunk(shape(), TrunkConfig(8, 1)), Trunk)
    with pytest.raises(ConfigError, match="positions=true"):
        make_trunk(shape(TrunkConfig(8, 1, positions=False, mixing=True)), 6, MIXING)
    with pytest.raises(ConfigError, match="replaces attention"):
        make_trunk(shape(), 6, TrunkConfig(8, 2, attention=1, mixing=True))


def test_untrained_copies_keep_the_grid() -> None:
    torch.manual_seed(0)
    states = torch.randint(6, (5, 2, 6), dtype=torch.uint8)
    scores = CopyScores(shape(), 8, 16)(torch.randn(5, 8, 2, 6), states)
    assert torch.equal(scores.argmax(dim=-1).to(torch.uint8), states)


def test_copies_need_single_cells() -> None:
    with pytest.raises(ConfigError, match="downsample=1"):
        CopyScores(shape(TrunkConfig(8, 1, downsample=2)), 8, 16)


def test_distant_moves_are_learned_in_a_few_steps() -> None:
    """The whole grid is reversed, or its rows exchanged: no convolution of this depth can."""
    torch.manual_seed(0)
    network = DynamicsNetwork(shape(), MIXING)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)

    def transitions(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        states = rng.integers(6, size=(count, 2, 6)).astype(np.uint8)
        actions = rng.integers(2, size=count)
        after = np.where(actions[:, None, None] == 0, states[:, ::-1, ::-1], states[:, ::-1])
        return tuple(torch.from_numpy(a.copy()) for a in (states, actions, after))  # type: ignore[return-value]

    for _ in range(120):
        states, actions, after = transitions(64)
        scores = network(states, actions)
        loss = functional.cross_entropy(scores.flatten(0, 2), after.long().flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    states, actions, after = transitions(200)
    network.eval()
    exact = (network(states, actions).argmax(dim=-1) == after).all(dim=2).all(dim=1)
    assert exact.float().mean() > 0.95


def test_further_blocks_are_the_identity_until_trained() -> None:
    torch.manual_seed(0)
    small = make_trunk(shape(), 6, MIXING).eval()
    large = make_trunk(shape(), 6, TrunkConfig(8, 3, mixing=True, hidden=64)).eval()
    large.load_state_dict(with_idle_blocks(small.state_dict(), large.state_dict()))
    planes = torch.randn(4, 6, 2, 6)
    assert torch.allclose(small(planes), large(planes), atol=1e-6)
