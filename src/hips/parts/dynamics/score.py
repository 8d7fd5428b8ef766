"""Scores of the learned dynamics."""

from __future__ import annotations

from hips.parts.dynamics.adapter import LearnedDynamics
from hips.seeding import stream
from hips.training.scoring import AT_ONCE, Exam

TRANSITIONS = 100_000
RESTARTED = 0.2
"""Share of the walks that restart from a demonstrated state after each step."""


def score(exam: Exam) -> dict[str, float]:
    """`exact`: share of random-walk transitions predicted exactly."""
    domain, data = exam.domain, exam.data
    dynamics = LearnedDynamics(exam.runtime)
    rng = stream(exam.seed, "transitions", domain.name)
    right = done = 0
    states = data.states[rng.choice(len(data.states), size=AT_ONCE)]
    while done < TRANSITIONS:
        actions = rng.integers(domain.spec.num_actions, size=AT_ONCE)
        following = domain.step(states, actions)
        predicted = dynamics.step(states, actions)
        right += int((predicted == following).all(axis=(1, 2)).sum())
        done += AT_ONCE
        fresh = rng.random(AT_ONCE) < RESTARTED
        following[fresh] = data.states[rng.choice(len(data.states), size=int(fresh.sum()))]
        states = following
    return {"exact": right / done}
