"""Solvers map levels to results: a search, a closed-loop policy, or a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.planner.budget import Budget
from hips.planner.children import Expander
from hips.planner.evaluations import Evaluation, KeyFunction
from hips.planner.gathering import Report, gather
from hips.planner.options import DEFAULT_BATCH, SearchOptions
from hips.planner.outcomes import Outcome
from hips.planner.policies import unweighted
from hips.planner.protocols import Heuristic
from hips.planner.result import Result
from hips.planner.rounds import Observer
from hips.planner.search import Search


class Solver(Protocol):
    """Solves levels of one size."""

    @property
    def heuristic(self) -> Heuristic | None:
        """Estimates distances to a goal, for whoever improves the plans; None without one."""
        ...

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Results in the order of `levels`; INTERRUPTED ones after Ctrl-C."""
        ...


@runtime_checkable
class Steppable(Protocol):
    """A solver whose searches can run round by round."""

    def start(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> Search:
        """The searches before their first round."""
        ...


@dataclass(frozen=True, slots=True)
class SearchSolver:
    """A best-first search over an expander, many levels in lockstep.

    Attributes:
        expander: makes children.
        evaluation: the order of expansion.
        close_on_generation: never update a generated state (the published protocol).
        batch: searches in lockstep.
        width: nodes of each search that a round expands at most.
    """

    expander: Expander
    evaluation: str | Evaluation | KeyFunction = "phs_hat"
    close_on_generation: bool = False
    batch: int = DEFAULT_BATCH
    width: int = 1

    @property
    def heuristic(self) -> Heuristic | None:
        """The expander's, without the weight of the search."""
        return unweighted(self.expander.heuristic)

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
            self.evaluation,
            budget,
            self.batch,
            close_on_generation=self.close_on_generation,
            width=self.width,
        )
        return Search(domain, levels, self.expander, options, observer)


SolveOne = Callable[[Domain, Grid, Budget], Result]


@dataclass(frozen=True, slots=True)
class ProgramSolver:
    """An external program, called for one level at a time.

    Attributes:
        solve_one: calls the program.
        heuristic: a program has none.
    """

    solve_one: SolveOne
    heuristic: None = None

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Calls the program for every level; those after Ctrl-C are INTERRUPTED."""
        deadline = budget.deadline()

        def work(report: Report) -> None:
            for index, level in enumerate(levels):
                left = budget.until(deadline)
                if left.max_total_seconds == 0.0:
                    report(index, Result(Outcome.OUT_OF_TIME))
                else:
                    report(index, self.solve_one(domain, level, _within(left)))

        return gather(domain, levels, observer, work)


def _within(budget: Budget) -> Budget:
    """A budget whose limit per level does not exceed the time left for all."""
    limits = [x for x in (budget.max_seconds, budget.max_total_seconds) if x is not None]
    return replace(budget, max_seconds=min(limits) if limits else None)
