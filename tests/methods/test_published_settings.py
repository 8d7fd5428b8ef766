"""What the settings of the published protocol change in a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hips import domains
from hips.domains import Actions, Grids
from hips.methods.base import Execution, Wiring
from hips.methods.wiring import wire
from hips.models import bundle
from hips.planner.components import Components, make_expander
from hips.planner.policies import StateHeuristic, UniformPolicy
from hips.planner.protocols import Foresight, Proposals
from hips.planner.settings import Settings, defaults, paper_values
from tests.toys import AGENT, LineWorld

LINE = LineWorld()
FLAT = StateHeuristic(lambda state: 1.0)
LEFT, RIGHT = 0, 1


def line(position: int) -> Grids:
    """A batch of one state with the agent at a position."""
    states = np.zeros((1, *LINE.spec.shape), dtype=np.uint8)
    states[0, 0, position] = AGENT
    return states


@dataclass(frozen=True)
class Targets:
    """Proposes the same agent's positions with given probabilities."""

    positions: tuple[int, ...]
    chances: tuple[float, ...]

    def propose(self, states: Grids) -> Proposals:
        count = len(self.positions)
        targets = np.concatenate([line(position) for position in self.positions])
        return Proposals(np.zeros(count, np.int64), np.arange(count), np.log(self.chances), targets)


@dataclass(frozen=True)
class Stubborn:
    """A reach policy that prefers one action whatever the subgoal."""

    action: int
    calls: int = 1

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        log_probabilities = np.full((len(states), 1, 2), np.log(0.1))
        log_probabilities[:, :, self.action] = np.log(0.9)
        return Foresight(log_probabilities)


@dataclass(frozen=True)
class Garbage:
    """Learned dynamics that predict a symbol the domain does not have."""

    def step(self, states: Grids, actions: Actions) -> Grids:
        return np.full_like(states, LINE.spec.num_symbols)


def children(start: int, settings: Settings, **components: Any) -> list[tuple[int, float]]:
    """Position (-1 for none) and probability of each child of a state."""
    own = Components(action_policy=UniformPolicy(2), heuristic=FLAT, **components)
    subgoals = own.generator is not None
    expander = make_expander(LINE, own, settings, subgoals=subgoals, actions=not subgoals)
    found = expander.expand(line(start))
    positions = [int(state[0].argmax()) if (state == AGENT).any() else -1 for state in found.states]
    return list(zip(positions, np.exp(found.log_probabilities).tolist(), strict=True))


@pytest.mark.parametrize(("rule", "share"), [("sum", 0.6), ("max", 0.3 / 0.7)])
def test_equal_subgoals_add_up_or_the_likeliest_counts(rule: str, share: float) -> None:
    generator = Targets((3, 3, 2), (0.3, 0.3, 0.4))
    found = children(
        1, Settings(equal_subgoals=rule), generator=generator, reach_policy=Stubborn(RIGHT)
    )
    assert dict(found) == pytest.approx({3: share, 2: 1 - share})


@pytest.mark.parametrize(("passes", "reached"), [(True, [LINE.length - 1]), (False, [])])
def test_a_goal_on_the_way_ends_a_rollout_or_does_not(passes: bool, reached: list[int]) -> None:
    settings = Settings(pass_goals=passes, rollout_retries=0, min_reach_probability=0.0)
    generator, reach = Targets((2,), (1.0,)), Stubborn(RIGHT)
    found = children(LINE.length - 3, settings, generator=generator, reach_policy=reach)
    assert [position for position, _ in found] == reached


@pytest.mark.parametrize(("retries", "reached"), [(0, []), (1, [1])])
def test_a_blocked_rollout_tries_another_action_or_ends(retries: int, reached: list[int]) -> None:
    settings = Settings(rollout_retries=retries)
    generator, reach = Targets((1,), (1.0,)), Stubborn(LEFT)
    found = children(0, settings, generator=generator, reach_policy=reach)
    assert [position for position, _ in found] == reached


@pytest.mark.parametrize(("checked", "count"), [(True, 0), (False, 2)])
def test_learned_steps_that_break_the_rules_are_dropped_or_kept(checked: bool, count: int) -> None:
    settings = Settings(dynamics="learned", legality_check=checked)
    assert len(children(3, settings, dynamics=Garbage())) == count


@pytest.mark.parametrize(("decoding", "sound"), [("domain", True), ("cells", False)])
def test_subgoals_are_decoded_by_the_domain_or_cell_by_cell(decoding: str, sound: bool) -> None:
    domain = domains.create("sliding_tiles")
    settings = Settings(decoding=decoding).completed(defaults())
    runtime = bundle.load(domain.name).runtime()
    generator = wire(Wiring(domain, settings, runtime, Execution())).generator
    assert generator is not None
    states = domain.sample(np.random.default_rng(0), 4)
    proposed = generator.propose(states)
    assert proposed.targets is not None
    legal = domain.is_legal(proposed.targets, states[proposed.parents])
    assert bool(legal.all()) is sound


def test_the_published_protocol_switches_all_of_them() -> None:
    published = paper_values(LINE.preset)
    switched = {
        "equal_subgoals": "max",
        "pass_goals": False,
        "rollout_retries": 0,
        "legality_check": False,
        "decoding": "cells",
    }
    assert {name: published[name] for name in switched} == switched
    assert all(defaults()[name] != value for name, value in switched.items())
