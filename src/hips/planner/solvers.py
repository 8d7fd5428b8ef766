"""Solvers map levels to results: a search, a closed-loop policy, or a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.planner.budget import Budget
from hips.planner.children import Expander
from hips.planner.evaluations import Evaluation, KeyFunction
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Observer, StopSearch
from hips.planner.search import DEFAULT_BATCH, Search, SearchOptions


class Solver(Protocol):
    """Solves levels of one size."""

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Results in the order of `levels`; INTERRUPTED ones after Ctrl-C."""
        ...


@dataclass(frozen=True, slots=True)
class SearchSolver:
    """A best-first search over an expander, many levels in lockstep.

    Attributes:
        expander: makes children.
        evaluation: the order of expansion.
        close_on_generation: never update a generated state (the published protocol).
        batch: searches in lockstep.
    """

    expander: Expander
    evaluation: str | Evaluation | KeyFunction = "phs_hat"
    close_on_generation: bool = False
    batch: int = DEFAULT_BATCH

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Searches all levels; see `Search`."""
        return self.start(domain, levels, budget, observer).run()

    def start(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> Search:
        """The searches before their first round, to run round by round."""
        options = SearchOptions(
            self.evaluation, budget, self.batch, close_on_generation=self.close_on_generation
        )
        return Search(domain, levels, self.expander, options, observer)


SolveOne = Callable[[Domain, Grid, Budget], Result]


@dataclass(frozen=True, slots=True)
class ProgramSolver:
    """An external program, called for one level at a time.

    Attributes:
        solve_one: calls the program.
    """

    solve_one: SolveOne

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Calls the program for every level; those after Ctrl-C are INTERRUPTED."""
        deadline = budget.deadline()
        results: list[Result] = []
        try:
            for index, level in enumerate(levels):
                left = budget.until(deadline)
                if left.max_total_seconds == 0.0:
                    found = Result(Outcome.OUT_OF_TIME)
                else:
                    found = self.solve_one(domain, level, _within(left))
                results.append(replace(found, start=level, domain=domain))
                if observer is not None:
                    observer.on_result(index, results[-1])
        except (KeyboardInterrupt, StopSearch):
            pass
        rest = [Result(Outcome.INTERRUPTED, start=one, domain=domain) for one in levels]
        return [*results, *rest[len(results) :]]


def _within(budget: Budget) -> Budget:
    """A budget whose limit per level does not exceed the time left for all."""
    limits = [x for x in (budget.max_seconds, budget.max_total_seconds) if x is not None]
    return replace(budget, max_seconds=min(limits) if limits else None)
