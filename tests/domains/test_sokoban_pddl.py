"""Sokoban's PDDL means the same as its rules: plans are run by a tiny STRIPS machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hips.domains import create, replay
from hips.domains.sokoban import Sokoban
from hips.errors import LevelError
from hips.seeding import stream

Fact = tuple[str, ...]


def read_lisp(text: str) -> Any:
    """Nested lists of words."""
    stack: list[list[Any]] = [[]]
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            stack.append([])
        elif word == ")":
            finished = stack.pop()
            stack[-1].append(finished)
        else:
            stack[-1].append(word)
    return stack[0][0]


def section(tree: Any, name: str) -> Any:
    return next(part[1:] for part in tree if isinstance(part, list) and part[0] == name)


class Machine:
    """Facts that hold, and ground actions that change them."""

    def __init__(self, domain: str, problem: str) -> None:
        self.schemas = {part[1]: part for part in read_lisp(domain) if part[0] == ":action"}
        task = read_lisp(problem)
        self.facts: set[Fact] = {tuple(fact) for fact in section(task, ":init")}
        self.goal: set[Fact] = {tuple(fact) for fact in section(task, ":goal")[0][1:]}

    def apply(self, name: str, *arguments: str) -> bool:
        """Takes the step; False (and no change) if its precondition does not hold."""
        schema = self.schemas[name]
        parameters = [word for word in schema[3] if word.startswith("?")]
        assert len(parameters) == len(arguments)
        value = dict(zip(parameters, arguments, strict=True))

        def ground(fact: list[str]) -> Fact:
            return tuple(value.get(word, word) for word in fact)

        if not {ground(fact) for fact in schema[5][1:]} <= self.facts:
            return False
        effects = schema[7][1:]
        self.facts -= {ground(effect[1]) for effect in effects if effect[0] == "not"}
        self.facts |= {ground(effect) for effect in effects if effect[0] != "not"}
        return True


def pddl_step(state: np.ndarray, action: str) -> tuple[str, ...]:
    """The PDDL step that an action means in a state."""
    down, right = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}[action]
    row, column = (int(i) for i in np.argwhere(state >= 5)[0])
    cells = [f"c{row + k * down}-{column + k * right}" for k in range(3)]
    pushes = state[row + down, column + right] in (3, 4)
    return ("push", *cells, action) if pushes else ("move", *cells[:2], action)


@pytest.fixture(scope="module")
def sokoban() -> Sokoban:
    domain = create("sokoban")
    assert isinstance(domain, Sokoban)
    return domain


def test_random_walks_agree_with_the_rules(sokoban: Sokoban) -> None:
    rng = stream(0, "pddl")
    for room in sokoban.sample(rng, 5):
        machine = Machine(*sokoban.pddl(room))
        actions = rng.integers(4, size=60)
        states = replay(sokoban, room, actions)
        for before, after, name in zip(
            states, states[1:], sokoban.spec.action_names(actions), strict=False
        ):
            possible = machine.apply(*pddl_step(before, name))
            assert possible == (not np.array_equal(before, after))
        expected = Machine(*sokoban.pddl(states[-1]))
        assert machine.facts == expected.facts
        assert machine.goal == expected.goal


def test_expert_plans_reach_the_goal_and_come_back(sokoban: Sokoban) -> None:
    rng = stream(1, "pddl")
    for room in sokoban.sample(rng, 3):
        plan = sokoban.expert(room, rng)
        machine = Machine(*sokoban.pddl(room))
        lines = ["; a plan", ""]
        for state, name in zip(
            replay(sokoban, room, plan), sokoban.spec.action_names(plan), strict=False
        ):
            assert not machine.goal <= machine.facts
            step = pddl_step(state, name)
            assert machine.apply(*step)
            lines.append(f"({' '.join(step)})")
        assert machine.goal <= machine.facts
        np.testing.assert_array_equal(sokoban.plan_from_pddl([*lines, "; cost = 7"]), plan)


def test_plans_may_be_numbered_or_in_capitals(sokoban: Sokoban) -> None:
    lines = ["0: (MOVE C1-1 C1-2 RIGHT)", "0.001: ( push c1-2 c1-3 c1-4 right )", "move a b up"]
    assert sokoban.plan_from_pddl(lines).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "line", ["(fly a b up)", "(move a b north)", "(move)", "up", "(move a b up) x"]
)
def test_foreign_steps_are_refused(sokoban: Sokoban, line: str) -> None:
    with pytest.raises(LevelError, match="line 2"):
        sokoban.plan_from_pddl(["(move a b up)", line])


def test_the_file_holds_domain_and_problem(sokoban: Sokoban) -> None:
    room = sokoban.sample(stream(2, "pddl"), 1)[0]
    text = sokoban.export([room], "pddl")
    assert text == "\n".join(sokoban.pddl(room))
    assert text.count("(define") == 2
