"""The Decision Transformer: its windows, causality, and a toy where the return matters."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch

from hips import parts
from hips.data.dataset import Trajectories
from hips.errors import ConfigError
from hips.parts.dt.adapter import CONTEXT, ReturnConditionedPolicy
from hips.parts.dt.config import DecisionTransformerConfig
from hips.parts.dt.network import DecisionTransformer
from hips.parts.dt.train import SequenceStage
from hips.planner.closed_loop import Episodes
from hips.training.corpus import Corpus
from hips.training.torch_runtime import TorchRuntime
from tests.toys import AGENT, LineWorld

LEFT, RIGHT = 0, 1
WORLD = LineWorld(length=8)
START = 5


def network() -> DecisionTransformer:
    part = parts.get("dt")
    config = replace(part.configure(WORLD, "smoke"), width=32, layers=2, dropout=0.0)
    torch.manual_seed(0)
    return cast(DecisionTransformer, part.build(WORLD.spec, config, 5))


def demonstrations() -> Corpus:
    """From the same place: straight to the goal, or to the wall on the left and back."""
    ways = [[RIGHT] * 2, [LEFT] * 5 + [RIGHT] * 7]
    states, actions, offsets = [], [], [0]
    for way in ways:
        state = np.zeros((1, 1, 8), dtype=np.uint8)
        state[0, 0, START] = AGENT
        for action in way:
            states.append(state[0])
            state = WORLD.step(state, np.array([action]))
        states.append(state[0])
        assert WORLD.is_goal(state).all()
        actions += [*way, -1]
        offsets.append(len(states))
    return Corpus.build(Trajectories(np.stack(states), np.array(actions), np.array(offsets)), WORLD)


@pytest.fixture(scope="module")
def trained() -> DecisionTransformer:
    model = network()
    schedule = DecisionTransformerConfig().training
    stage = SequenceStage(schedule, model, demonstrations(), demonstrations())
    stage.prepare()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for step in range(60):
        optimiser.zero_grad()
        stage.objective(stage.batch(np.random.default_rng(step), 8))[0].backward()
        optimiser.step()
    return model.eval()


def first_action(model: DecisionTransformer, target_steps: int) -> int:
    runtime = TorchRuntime(parts.known(), {"dt": model}, torch.device("cpu"))
    level = demonstrations().states[:1]
    return int(ReturnConditionedPolicy(runtime, target_steps).act(Episodes([level]))[0])


def test_the_wanted_return_decides_what_it_does(trained: DecisionTransformer) -> None:
    """In one and the same state, it goes straight if asked for few steps, and around for many."""
    assert first_action(trained, 2) == RIGHT
    assert first_action(trained, 12) == LEFT


def test_without_a_wish_the_median_demonstration_is_asked_for(trained: DecisionTransformer) -> None:
    assert float(trained.typical_steps) == 7.0
    assert first_action(trained, 0) == first_action(trained, 7)


def test_a_time_step_does_not_see_later_ones() -> None:
    model = network().eval()
    torch.manual_seed(1)
    features = torch.randn(2, CONTEXT, model.width)
    actions = torch.zeros(2, CONTEXT, dtype=torch.int64)
    to_go = torch.ones(2, CONTEXT)
    changed = (features.clone(), actions.clone(), to_go.clone())
    changed[0][:, 11:], changed[1][:, 10:], changed[2][:, 11:] = 9.0, 1, 50.0
    with torch.no_grad():
        before, after = model(features, actions, to_go), model(*changed)
    torch.testing.assert_close(before[:, :11], after[:, :11])
    assert not torch.allclose(before[:, 11:], after[:, 11:])


def test_windows_are_whole_pieces_of_demonstrations() -> None:
    corpus = demonstrations()
    schedule = DecisionTransformerConfig().training
    stage = SequenceStage(schedule, network(), corpus, corpus)
    drawn = {key: value.numpy() for key, value in stage.validation.items()}
    for states, actions, to_go in zip(
        drawn["states"], drawn["actions"], drawn["steps_to_go"], strict=True
    ):
        taken = int((actions >= 0).sum())
        assert to_go[:taken].tolist() == list(range(int(to_go[0]), 0, -1))[:taken]
        assert taken == min(CONTEXT, to_go[0])
        following = WORLD.step(states[: taken - 1], actions[: taken - 1])
        np.testing.assert_array_equal(following, states[1:taken])


def test_episodes_longer_than_the_context_keep_the_latest_steps(
    trained: DecisionTransformer,
) -> None:
    """Features are computed once per state, and rows that end are dropped from them."""
    runtime = TorchRuntime(parts.known(), {"dt": trained}, torch.device("cpu"))
    policy = ReturnConditionedPolicy(runtime, 12)
    level = demonstrations().states[:1]
    both, one = Episodes([np.concatenate([level, level])]), Episodes([level])
    for step in range(CONTEXT + 5):
        if step == 3:
            both = both.select(np.array([1]))
        for episodes in (both, one):
            actions = policy.act(episodes)
            episodes.states.append(WORLD.step(episodes.states[-1], actions))
            episodes.actions.append(actions)
    assert [int(a[-1]) for a in both.actions] == [int(a[0]) for a in one.actions]
    assert len(one.notes) == CONTEXT + 5


@pytest.mark.parametrize("wrong", [{"width": 30}, {"layers": 0}, {"dropout": 1.0}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="dt"):
        DecisionTransformerConfig(**wrong)  # type: ignore[arg-type]
