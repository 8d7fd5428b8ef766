"""Closed-loop policies: act, observe, act again; no search and no guarantees."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hips.arrays import Actions, Bools, Floats, Grid, Grids, Ints
from hips.domains.base import Domain
from hips.errors import ContractError
from hips.planner.budget import Budget
from hips.planner.gathering import Report, gather
from hips.planner.outcomes import Outcome
from hips.planner.protocols import ActionPolicy, calls_of
from hips.planner.result import Result, Segment, Statistics
from hips.planner.rounds import Observer
from hips.planner.validate import find_fault, is_plan

DEFAULT_BATCH = 64


@dataclass(slots=True)
class Episodes:
    """Running episodes in lockstep.

    Attributes:
        states: one `[B, H, W]` per time step, the current one last.
        actions: one `[B]` per step taken.
        notes: what the policy chose to remember: any number of arrays `[B, …]`.
    """

    states: list[Grids]
    actions: list[Actions] = field(default_factory=list)
    notes: list[Floats] = field(default_factory=list)

    def select(self, rows: Ints) -> Episodes:
        """The episodes at `rows`."""
        return Episodes(
            [states[rows] for states in self.states],
            [actions[rows] for actions in self.actions],
            [notes[rows] for notes in self.notes],
        )


class ClosedLoopPolicy(Protocol):
    """Chooses the next action of every episode; `calls` network rows each (see `calls_of`)."""

    def act(self, episodes: Episodes) -> Actions:
        """Actions `[B]`."""
        ...


@dataclass(frozen=True, slots=True)
class GreedyPolicy:
    """The likeliest action of π_BC in the current state, regardless of history."""

    policy: ActionPolicy

    @property
    def calls(self) -> int:
        """Network rows of the policy."""
        return calls_of(self.policy)

    def act(self, episodes: Episodes) -> Actions:
        """`[B]`."""
        best: Actions = self.policy.log_probabilities(episodes.states[-1]).argmax(axis=1)
        return best


@dataclass(frozen=True, slots=True)
class ClosedLoopSolver:
    """Rolls out a policy until the goal or a cap on steps.

    Attributes:
        policy: chooses the actions.
        max_steps: cap on the steps of an episode; beyond it the level is UNSOLVED_INCOMPLETE.
        batch: episodes in lockstep.
        heuristic: a policy has none.
    """

    policy: ClosedLoopPolicy
    max_steps: int
    batch: int = DEFAULT_BATCH
    heuristic: None = None

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Acts in all levels, `batch` at a time."""
        deadline = budget.deadline()

        def work(report: Report) -> None:
            valid = []
            for index, level in enumerate(levels):
                if fault := find_fault(domain, level):
                    report(index, Result(Outcome.INVALID_INPUT, message=fault))
                else:
                    valid.append(index)
            for first in range(0, len(valid), self.batch):
                chunk = valid[first : first + self.batch]
                chosen = [levels[index] for index in chunk]
                for place, result in self._roll(domain, chosen, budget, deadline).items():
                    report(chunk[place], result)

        return gather(domain, levels, observer, work)

    def _roll(
        self, domain: Domain, levels: Sequence[Grid], budget: Budget, deadline: float
    ) -> dict[int, Result]:
        """One batch of episodes."""
        began = time.perf_counter()
        episodes = Episodes([np.stack(levels)])
        running = np.arange(len(levels))
        seconds = 0.0
        found: dict[int, Result] = {}
        for step in range(self.max_steps + 1):
            solved = domain.is_goal(episodes.states[-1])
            limit = self._limit(step, seconds, budget, deadline)
            ended = solved | (limit is not None)
            for row in np.flatnonzero(ended):
                outcome = Outcome.SOLVED if solved[row] or limit is None else limit
                plan = np.array([a[row] for a in episodes.actions], dtype=np.int64)
                spent = (seconds, time.perf_counter() - began)
                place = int(running[row])
                found[place] = self._result(domain, levels[place], outcome, plan, spent)
            kept = np.flatnonzero(~ended)
            if not len(kept):
                break
            if len(kept) < len(running):
                running, episodes = running[kept], episodes.select(kept)
            moment = time.perf_counter()
            actions = _checked(self.policy.act(episodes), domain, len(running))
            episodes.states.append(domain.step(episodes.states[-1], actions))
            episodes.actions.append(actions)
            seconds += (time.perf_counter() - moment) / len(running)
        return found

    def _limit(self, step: int, seconds: float, budget: Budget, deadline: float) -> Outcome | None:
        """The outcome of episodes without a goal after `step` steps; None to continue."""
        if budget.max_expansions is not None and step >= budget.max_expansions:
            return Outcome.OUT_OF_EXPANSIONS
        if budget.max_seconds is not None and seconds >= budget.max_seconds:
            return Outcome.OUT_OF_TIME
        if time.monotonic() >= deadline:
            return Outcome.OUT_OF_TIME
        return Outcome.UNSOLVED_INCOMPLETE if step >= self.max_steps else None

    def _result(
        self,
        domain: Domain,
        start: Grid,
        outcome: Outcome,
        actions: Actions,
        spent: tuple[float, float],
    ) -> Result:
        """The result of one episode; a plan counts only after an independent replay."""
        steps = len(actions)
        statistics = Statistics(
            expansions=steps,
            action_expansions=steps,
            generated=steps,
            network_rows=steps * calls_of(self.policy),
            environment_steps=steps,
            seconds=spent[0],
            elapsed_seconds=spent[1],
        )
        if outcome is not Outcome.SOLVED:
            return Result(outcome, statistics=statistics)
        if not is_plan(domain, start, actions):
            raise ContractError(f"'{domain.name}': `step` must be deterministic")
        names = domain.spec.action_names(actions)
        segments = tuple(Segment("action", name, 1) for name in names)
        return Result(outcome, names, segments, statistics)


def _checked(actions: Actions, domain: Domain, count: int) -> Actions:
    chosen = np.asarray(actions)
    inside: Bools = (chosen >= 0) & (chosen < domain.spec.num_actions)
    if chosen.shape != (count,) or not inside.all():
        raise ContractError(
            f"a closed-loop policy must return {count} actions in 0 … {domain.spec.num_actions - 1}"
        )
    return chosen.astype(np.int64)
