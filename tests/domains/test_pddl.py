"""The PDDL of a domain means the same as its rules: walks are followed by a STRIPS machine."""

from __future__ import annotations

import numpy as np
import pytest

from hips.domains import Domain, create, replay
from hips.errors import ConfigError, LevelError
from hips.seeding import stream
from tests.domains.strips import Machine
from tests.toys import LineWorld

DOMAINS = {
    "sokoban": {"height": 7, "width": 7, "boxes": 2},
    "sliding_tiles": {"height": 2, "width": 3},
    "box_world": {"size": 5, "goal_length": 3, "distractors": 1},
    "tsp": {"size": 5, "cities": 4},
}


@pytest.fixture(params=DOMAINS)
def domain(request: pytest.FixtureRequest) -> Domain:
    return create(request.param, **DOMAINS[request.param])


def machine_of(domain: Domain, state: np.ndarray) -> Machine:
    task = domain.pddl(state)
    assert task is not None
    return Machine(*task)


def steps_by_action(domain: Domain, machine: Machine) -> dict[int, tuple[str, ...]]:
    """What the machine can do, by the action that each step means; no two mean the same."""
    steps = machine.steps()
    actions = domain.plan_from_pddl([f"({' '.join(step)})" for step in steps]).tolist()
    assert len(set(actions)) == len(actions)
    return dict(zip(actions, steps, strict=True))


def moves(domain: Domain, state: np.ndarray) -> set[int]:
    """The actions that change a state."""
    everything = np.arange(domain.spec.num_actions)
    after = domain.step(np.stack([state] * len(everything)), everything)
    return set(np.flatnonzero((after != state).any(axis=(1, 2))).tolist())


def test_walks_agree_with_the_rules(domain: Domain) -> None:
    rng = stream(0, "pddl", domain.name)
    for start in domain.sample(rng, 3):
        # Halfway through an expert's plan things happen that aimless walks never see.
        plan = domain.expert(start, rng, 0.5)
        walk = np.concatenate([plan[: len(plan) // 2], rng.integers(4, size=10)])
        machine = machine_of(domain, start)
        for state, action in zip(replay(domain, start, walk), walk.tolist(), strict=False):
            if domain.is_goal(state[None])[0]:
                break
            possible = steps_by_action(domain, machine)
            assert set(possible) == moves(domain, state)
            if action in possible:
                machine.apply(*possible[action])


def test_plans_reach_the_goal_and_no_sooner(domain: Domain) -> None:
    rng = stream(1, "pddl", domain.name)
    for start in domain.sample(rng, 3):
        plan = domain.expert(start, rng)
        machine = machine_of(domain, start)
        states = replay(domain, start, plan)
        lines = ["; a plan", ""]
        for state, action in zip(states, plan.tolist(), strict=False):
            assert machine.solved == bool(domain.is_goal(state[None])[0])
            step = steps_by_action(domain, machine)[action]
            machine.apply(*step)
            lines.append(f"({' '.join(step)})")
        assert machine.solved
        np.testing.assert_array_equal(domain.plan_from_pddl([*lines, "; cost = 7"]), plan)


def test_states_under_way_are_problems_too(domain: Domain) -> None:
    rng = stream(2, "pddl", domain.name)
    start = domain.sample(rng, 1)[0]
    plan = domain.expert(start, rng)
    for index in range(0, len(plan), 3):
        state = replay(domain, start, plan[:index])[-1]
        machine = machine_of(domain, state)
        for action in plan[index:].tolist():
            machine.apply(*steps_by_action(domain, machine)[action])
        assert machine.solved


def test_a_file_holds_the_domain_and_every_problem(domain: Domain) -> None:
    starts = domain.sample(stream(3, "pddl", domain.name), 3)
    text = domain.export(list(starts), "pddl")
    assert text.count("(define (domain") == 1
    assert text.count("(define (problem") == len(starts)


@pytest.mark.parametrize("line", ["(fly a b up)", "(move-north a b)", "up", "(move-up a b) x"])
def test_foreign_steps_are_refused(domain: Domain, line: str) -> None:
    with pytest.raises(LevelError, match="line 2, column 1: not a step"):
        domain.plan_from_pddl(["; steps", line])


def test_plans_may_be_numbered_or_in_capitals(domain: Domain) -> None:
    machine = machine_of(domain, domain.sample(stream(4, "pddl"), 1)[0])
    for action, step in steps_by_action(domain, machine).items():
        words = " ".join(step)
        lines = [f"0: ({words.upper()})", f"0.001: ( {words} )", words]
        assert domain.plan_from_pddl(lines).tolist() == [action] * 3


def test_other_domains_write_none() -> None:
    world = LineWorld()
    assert world.pddl(world.sample(stream(5, "pddl"), 1)[0]) is None
    with pytest.raises(ConfigError, match="writes no PDDL"):
        world.plan_from_pddl([])
