"""CQL: values of demonstrated actions, a penalty on all others, an older copy as the target."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from hips import domains
from hips.errors import ConfigError
from hips.parts.cql.config import CqlConfig
from hips.parts.cql.train import CqlObjective, CqlStage
from hips.training.corpus import Corpus

LEFT, RIGHT = 0, 1


class TableOfValues(nn.Module):
    """Q-values of two states, free to take any value."""

    def __init__(self, values: list[list[float]]) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor(values))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.table[states[:, 0, 0].long()]


def learn(conservatism: float, steps: int = 400) -> torch.Tensor:
    """Q-values of a chain 0 → 1 → goal in which only RIGHT was ever taken, from a bad start.

    LEFT is out of the data, and its values are far too high.
    """
    table = TableOfValues([[5.0, 0.0], [5.0, 0.0]])
    objective = CqlObjective(table, conservatism, target_every=10)  # type: ignore[arg-type]
    states = torch.tensor([0, 1], dtype=torch.uint8).view(2, 1, 1)
    batch = {
        "states": states,
        "following": torch.tensor([1, 1], dtype=torch.uint8).view(2, 1, 1),
        "actions": torch.tensor([RIGHT, RIGHT]),
        "rewards": torch.tensor([0.0, 1.0]),
        "discounts": torch.tensor([0.9, 0.0]),
    }
    optimiser = torch.optim.Adam(table.parameters(), lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        objective(batch)[0].backward()
        optimiser.step()
    return table.table.detach()


def test_the_penalty_lowers_actions_outside_the_data() -> None:
    free, conservative = learn(0.0), learn(0.5)
    assert free.argmax(dim=1).tolist() == [LEFT, LEFT]  # nothing corrects what was never tried
    assert conservative.argmax(dim=1).tolist() == [RIGHT, RIGHT]
    assert (conservative[:, LEFT] < free[:, LEFT] - 1).all()


def test_without_the_penalty_values_of_the_data_are_discounted_returns() -> None:
    """With no action outside the data to mislead, Q is γ to the number of steps left."""
    table = TableOfValues([[-9.0, 0.0], [-9.0, 0.0]])
    objective = CqlObjective(table, 0.0, target_every=5)  # type: ignore[arg-type]
    batch = {
        "states": torch.tensor([0, 1], dtype=torch.uint8).view(2, 1, 1),
        "following": torch.tensor([1, 1], dtype=torch.uint8).view(2, 1, 1),
        "actions": torch.tensor([RIGHT, RIGHT]),
        "rewards": torch.tensor([0.0, 1.0]),
        "discounts": torch.tensor([0.9, 0.0]),
    }
    optimiser = torch.optim.Adam(table.parameters(), lr=0.05)
    for _ in range(400):
        optimiser.zero_grad()
        objective(batch)[0].backward()
        optimiser.step()
    assert table.table[:, RIGHT].tolist() == pytest.approx([0.9, 1.0], abs=0.02)


def test_the_target_network_follows_at_intervals_and_survives_a_checkpoint() -> None:
    table = TableOfValues([[0.0, 0.0], [0.0, 0.0]])
    objective = CqlObjective(table, 1.0, target_every=3)  # type: ignore[arg-type]
    state = torch.zeros((1, 1, 1), dtype=torch.uint8)
    batch = {
        "states": state,
        "following": state,
        "actions": torch.tensor([RIGHT]),
        "rewards": torch.tensor([0.0]),
        "discounts": torch.tensor([1.0]),
    }
    seen = []
    for step in range(7):
        with torch.no_grad():
            table.table.fill_(float(step))
        objective(batch)
        seen.append(float(objective.target.table[0, 0]))
    assert seen == [0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 6.0]
    assert not any(value.requires_grad for value in objective.target.parameters())
    other = CqlObjective(copy.deepcopy(table), 1.0, target_every=3)  # type: ignore[arg-type]
    other.load_state_dict(objective.state_dict())
    assert int(other.updates) == 7
    objective.eval()
    objective(batch)
    assert int(objective.updates) == 7  # validation leaves the target alone


def test_transitions_have_returns_of_several_steps(corpus: Corpus, tiles: domains.Domain) -> None:
    config = CqlConfig(num_steps=3, discount=0.5)
    from hips import parts

    part = parts.get("cql")
    network = part.build(tiles.spec, part.configure(tiles, "smoke"), 5)
    stage = CqlStage(config, network, corpus, corpus)  # type: ignore[arg-type]
    drawn = stage._draw(corpus, None, np.random.default_rng(0), 256)
    arrived = tiles.is_goal(drawn["following"].numpy())
    assert arrived.any()
    assert not arrived.all()
    assert set(drawn["rewards"][~arrived].tolist()) == {0.0}
    assert set(drawn["discounts"][~arrived].tolist()) == {0.125}
    assert set(drawn["rewards"][arrived].tolist()) <= {1.0, 0.5, 0.25}
    assert set(drawn["discounts"][arrived].tolist()) == {0.0}


@pytest.mark.parametrize(
    "wrong", [{"discount": 0.0}, {"conservatism": -1.0}, {"num_steps": 0}, {"target_every": 0}]
)
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="cql"):
        CqlConfig(**wrong)  # type: ignore[arg-type]
