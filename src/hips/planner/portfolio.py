"""Several solvers in turns: each level costs at most a constant factor more than with the best.

Every turn of a member is a new search with `GROWTH` times the expansions of its last one, so
repeated work is at most a third of all work. Turns are counted in expansions, not in seconds:
results do not depend on the machine's load.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import ContractError
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.protocols import Heuristic
from hips.planner.result import Result, Statistics
from hips.planner.rounds import Observer
from hips.planner.search import Search
from hips.planner.solvers import Solver, Steppable

GROWTH = 4
FINAL = (Outcome.SOLVED, Outcome.UNSOLVABLE, Outcome.INVALID_INPUT, Outcome.INTERRUPTED)
"""Outcomes after which no other member is asked."""


@dataclass(frozen=True, slots=True)
class Member:
    """A solver and the expansions of its first turn."""

    solver: Solver
    expansions: int


@dataclass(slots=True)
class _Open:
    """A level that is not decided yet: what it has cost, and which members have given up."""

    spent: Statistics = field(default_factory=Statistics)
    retired: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Members that take turns on every level.

    A search that is watched round by round belongs to the first member alone.
    """

    members: tuple[Member, ...]

    @property
    def heuristic(self) -> Heuristic | None:
        """The first member's."""
        return self.members[0].solver.heuristic

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Solves all levels; see `Solver`."""
        if observer is not None and observer.wants_rounds:
            return self.members[0].solver.solve_many(domain, levels, budget, observer)
        return _Run(self.members, domain, levels, budget, observer).run()

    def start(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> Search:
        """The first member's searches before their first round."""
        first = self.members[0].solver
        if not isinstance(first, Steppable):
            raise ContractError("the first member of a portfolio cannot run round by round")
        return first.start(domain, levels, budget, observer)


class _Run:
    """One call of `Portfolio.solve_many`."""

    def __init__(
        self,
        members: Sequence[Member],
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None,
    ) -> None:
        self.members, self.domain, self.levels = members, domain, levels
        self.budget, self.observer = budget, observer
        self.deadline = budget.deadline()
        self.open = {index: _Open() for index in range(len(levels))}
        self.results: dict[int, Result] = {}

    def run(self) -> list[Result]:
        """Takes turns until every level is decided."""
        turn = 0
        while self.open:
            place = turn % len(self.members)
            expansions = self.members[place].expansions * GROWTH ** (turn // len(self.members))
            if self._take_turn(place, expansions):
                break
            turn += 1
        rest = [Result(Outcome.INTERRUPTED, start=one, domain=self.domain) for one in self.levels]
        return [self.results.get(index, rest[index]) for index in range(len(self.levels))]

    def _take_turn(self, place: int, expansions: int) -> bool:
        """Lets one member search all open levels; returns whether it was interrupted."""
        chosen = [index for index, one in self.open.items() if place not in one.retired]
        if not chosen:
            return False
        limits = self._limits(chosen, expansions)
        found = self.members[place].solver.solve_many(
            self.domain, [self.levels[index] for index in chosen], limits
        )
        for index, result in zip(chosen, found, strict=True):
            self._note(index, place, result)
        return any(result.outcome is Outcome.INTERRUPTED for result in found)

    def _limits(self, chosen: Sequence[int], expansions: int) -> Budget:
        """The budget of a turn: no level gets more than it has left."""
        budget, spent = self.budget, [self.open[index].spent for index in chosen]
        if budget.max_expansions is not None:
            used = max(one.expansions for one in spent)
            expansions = min(expansions, max(0, budget.max_expansions - used))
        seconds = budget.max_seconds
        if seconds is not None:
            seconds = max(0.0, seconds - max(one.seconds for one in spent))
        return replace(budget.until(self.deadline), max_expansions=expansions, max_seconds=seconds)

    def _note(self, index: int, place: int, result: Result) -> None:
        """Keeps what a turn cost, and reports the level if it is decided."""
        one = self.open[index]
        one.spent = add(one.spent, result.statistics)
        total = replace(result, statistics=one.spent)
        if result.outcome in (Outcome.OUT_OF_MEMORY, Outcome.UNSOLVED_INCOMPLETE):
            one.retired.add(place)
        if result.outcome in FINAL or self._is_over(one):
            del self.open[index]
            self.results[index] = total
            if self.observer is not None and result.outcome is not Outcome.INTERRUPTED:
                self.observer.on_result(index, total)

    def _is_over(self, one: _Open) -> bool:
        """Whether a level has used its budget, or no member is left."""
        budget, spent = self.budget, one.spent
        out_of_time = budget.max_seconds is not None and spent.seconds >= budget.max_seconds
        out_of_expansions = (
            budget.max_expansions is not None and spent.expansions >= budget.max_expansions
        )
        total = self.budget.until(self.deadline).max_total_seconds
        return (
            out_of_time
            or out_of_expansions
            or total == 0.0
            or len(one.retired) == len(self.members)
        )


def add(first: Statistics, second: Statistics) -> Statistics:
    """The statistics of two searches of one level, one after the other."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(Statistics):
        a, b = getattr(first, item.name), getattr(second, item.name)
        if item.name == "phases":
            values[item.name] = {name: a.get(name, 0.0) + b.get(name, 0.0) for name in {**a, **b}}
        elif item.name == "action_profile":
            values[item.name] = tuple(x + y for x, y in zip_longest(a, b, fillvalue=0))
        elif item.name == "peak_bytes":
            values[item.name] = max(a, b)
        else:
            values[item.name] = a + b
    return Statistics(**values)
