"""One call of a planner: results, their completion, and the improvement of plans."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import is_interrupt
from hips.interrupts import shielded
from hips.planner.budget import Budget
from hips.planner.improve import Improvement, check_improve
from hips.planner.outcomes import Outcome
from hips.planner.protocols import Heuristic
from hips.planner.result import Provenance, Result
from hips.planner.rounds import Observer, Round, StopSearch
from hips.planner.solvers import Solver
from hips.planner.warm_up import warm_up


@dataclass(frozen=True, slots=True)
class Ready:
    """A method ready to solve levels of one size.

    Attributes:
        domain: the domain at that size.
        solver: the wired method.
        provenance: its record in results.
    """

    domain: Domain
    solver: Solver
    provenance: Provenance


@dataclass(slots=True)
class Run:
    """The state of one call of `Planner.run`.

    Plans are improved after every search has ended, so that no improvement spends the time of
    another level's search.

    Attributes:
        budget: limits of each search, and of all together.
        deadline: `time.monotonic()` at which all searches and improvements end.
        improve: seconds to spend on shortening each plan.
        seed: recorded in the results.
        observer: the user's.
        results: by index of the level.
        held: solved levels whose plans wait for improvement, with the heuristic of their solver.
        stopped: whether Ctrl-C or an observer ended the searches or the improvement.
    """

    budget: Budget
    deadline: float
    improve: float = 0.0
    seed: int | None = None
    observer: Observer | None = None
    results: dict[int, Result] = field(default_factory=dict)
    held: dict[int, Heuristic | None] = field(default_factory=dict)
    stopped: bool = False

    def __post_init__(self) -> None:
        check_improve(self.improve)

    def left(self) -> Budget:
        """The budget of the next searches."""
        return self.budget.until(self.deadline)

    def in_order(self) -> list[Result]:
        """All results, after the end of the run."""
        return [self.results[index] for index in range(len(self.results))]

    def report(self, index: int, result: Result) -> None:
        """Keeps a final result and passes it to the observer."""
        with shielded():
            self.results[index] = result
            if self.observer is not None:
                self.observer.on_result(index, result)

    def finish(self, index: int, result: Result, heuristic: Heuristic | None) -> None:
        """Takes the result of a search; a plan to improve waits for the other searches."""
        if result.solved and self.improve > 0:
            self.results[index] = result
            self.held[index] = heuristic
        else:
            self.report(index, result)

    def improve_held(self) -> None:
        """Improves the waiting plans; each gets an equal share of the time left.

        After Ctrl-C, the plan at hand counts as improved so far, the others as they were found.
        """
        while self.held:
            index = next(iter(self.held))
            improvement = Improvement(self.results[index], self.held[index], self.budget.max_memory)
            try:
                if not self.stopped:
                    improvement.run(self._share(), partial(self._on_plan, index))
            except StopSearch:
                self.stopped = True
            except (KeyboardInterrupt, SystemError) as error:
                if not is_interrupt(error):
                    raise
                self.stopped = True
            del self.held[index]
            self.report(index, improvement.result)

    def _share(self) -> float:
        """Seconds for the next of the waiting plans."""
        left = self.left().max_total_seconds
        return self.improve if left is None else min(self.improve, left / len(self.held))

    def _on_plan(self, index: int, result: Result) -> None:
        if self.observer is not None:
            self.observer.on_plan(index, result)


class Finisher(Observer):
    """Completes results and passes them on to a run."""

    def __init__(self, ready: Ready, indices: Sequence[int], run: Run) -> None:
        self.ready, self.indices, self.run = ready, indices, run
        self.wants_rounds = run.observer is not None and run.observer.wants_rounds

    def solve(self, levels: Sequence[Grid]) -> None:
        """Solves the levels at `indices`; after an interrupt, the others are INTERRUPTED."""
        domain, run = self.ready.domain, self.run
        found = [Result(Outcome.INTERRUPTED, start=one, domain=domain) for one in levels]
        if not run.stopped and run.left().max_total_seconds != 0.0:
            method = self.ready.provenance.method
            run.stopped = not warm_up(domain, method, self.ready.solver, levels)
        if not run.stopped:
            found = self.ready.solver.solve_many(domain, levels, run.left(), self)
        for index, result in zip(self.indices, found, strict=True):
            if index in run.results:
                continue
            run.stopped = True
            # Ctrl-C while its result was passed on: the result counts as it was found.
            if result.outcome is Outcome.INTERRUPTED:
                run.results[index] = self.complete(result)
            else:
                run.report(index, self.complete(result))

    def complete(self, result: Result) -> Result:
        """The result with provenance and seed."""
        return dataclasses.replace(result, provenance=self.ready.provenance, seed=self.run.seed)

    def on_round(self, round: Round) -> None:
        """Passes the round on, with the user's problem indices."""
        if self.run.observer is not None:
            problems = np.asarray(self.indices)[round.expanded.problems]
            expanded = dataclasses.replace(round.expanded, problems=problems)
            self.run.observer.on_round(dataclasses.replace(round, expanded=expanded))

    def on_result(self, index: int, result: Result) -> None:
        """Passes the result on."""
        heuristic = self.ready.solver.heuristic
        self.run.finish(self.indices[index], self.complete(result), heuristic)
