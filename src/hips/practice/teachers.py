"""Teachers: what can be learned from the states that searches met.

The *expert* of a domain answers for any state. *Own solutions* need no expert: plans that the
search found, shortened, are demonstrations; met states off these plans are searched again, and
small spaces are exhausted, which proves dead ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from hips.arrays import Grid, Grids, Ints
from hips.data.labels import DEAD_END, consult
from hips.domains.base import Domain, replay
from hips.errors import ExpertError
from hips.planner.improve import shorten
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.practice.dead_ends import exhaust
from hips.practice.lessons import Lesson, Notebook
from hips.registry import Registry

Solve: TypeAlias = Callable[[Sequence[Grid]], Sequence[Result]]
"""Searches levels with the model that practises."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Levels and what their searches met.

    Attributes:
        levels: the start states.
        results: of their searches.
        met: `[M, H, W]`, distinct expanded states.
        owners: `[M]`, the level of each, the first if several met it.
    """

    levels: Sequence[Grid]
    results: Sequence[Result]
    met: Grids
    owners: Ints

    @property
    def failed(self) -> list[Grid]:
        """Levels without a plan, but for those proven to have none."""
        ended = (Outcome.SOLVED, Outcome.UNSOLVABLE, Outcome.INVALID_INPUT)
        pairs = zip(self.levels, self.results, strict=True)
        return [level for level, result in pairs if result.outcome not in ended]


class Teacher(Protocol):
    """Makes a lesson of searches; plain data, so that it can be sent to a worker."""

    def teach(
        self, domain: Domain, searched: Searched, solve: Solve, rng: np.random.Generator
    ) -> Lesson:
        """The lesson of the searches."""
        ...


TEACHERS: Registry[Callable[[], Teacher]] = Registry("teacher")


@TEACHERS.register("expert")
@dataclass(frozen=True, slots=True)
class ExpertTeacher:
    """The domain's expert labels every met state and demonstrates from some of them.

    Where a search finds no plan, the states of the expert's plan are labelled too: a heuristic
    that mistakes a good state for a dead end keeps the search away from it, and would never be
    corrected.

    Attributes:
        plans_per_level: demonstrations from met states, for each level.
    """

    plans_per_level: int = 2

    def teach(
        self, domain: Domain, searched: Searched, solve: Solve, rng: np.random.Generator
    ) -> Lesson:
        """Labels and plans of the expert; states on which it gives up are left out."""
        notebook = Notebook(domain)
        states = [searched.met]
        for level in searched.failed:
            with suppress(ExpertError):
                if (plan := consult(domain, level, rng)) is not None:
                    states.append(replay(domain, level, plan))
                    if self.plans_per_level:
                        notebook.add_plan(level, plan)
        shown = {searched.met[i].tobytes() for i in choose(searched, self.plans_per_level, rng)}
        for state in np.unique(np.concatenate(states), axis=0):
            with suppress(ExpertError):
                plan = consult(domain, state, rng)
                notebook.add_label(state, DEAD_END if plan is None else len(plan))
                if plan is not None and state.tobytes() in shown:
                    notebook.add_plan(state, plan)
        return notebook.lesson(searched.failed, len(searched.levels))


@TEACHERS.register("own")
@dataclass(frozen=True, slots=True)
class OwnSolutions:
    """The search teaches itself; needs no expert.

    Attributes:
        states_per_level: met states off the plan to learn about, for each level.
        exhausted: limit of states for proofs that a state is a dead end.
        shortened: states around a plan among which shorter ones are looked for.
    """

    states_per_level: int = 8
    exhausted: int = 20_000
    shortened: int = 20_000

    def teach(
        self, domain: Domain, searched: Searched, solve: Solve, rng: np.random.Generator
    ) -> Lesson:
        """Plans found, and what is known of met states: a plan, or that there is none."""
        notebook = Notebook(domain)
        known: set[bytes] = set()
        for level, result in zip(searched.levels, searched.results, strict=True):
            if result.solved:
                known |= self._note_plan(domain, notebook, level, result)
        rows = choose(searched, self.states_per_level, rng)
        open_states = [state for state in searched.met[rows] if state.tobytes() not in known]
        hard: list[Grid] = []
        for state in open_states:
            remaining = exhaust(domain, state, self.exhausted)
            if remaining is None:
                hard.append(state)
            else:
                notebook.add_label(state, remaining)
        for state, result in zip(hard, solve(hard), strict=True):
            if result.solved:
                self._note_plan(domain, notebook, state, result)
            elif result.outcome is Outcome.UNSOLVABLE:
                notebook.add_label(state, DEAD_END)
        return notebook.lesson(searched.failed, len(searched.levels))

    def _note_plan(
        self, domain: Domain, notebook: Notebook, start: Grid, result: Result
    ) -> set[bytes]:
        """Notes a shortened plan and the states on its way; returns these states."""
        found = domain.spec.action_indices(result.plan)
        plan = shorten(domain, start, found, self.shortened)
        states = replay(domain, start, plan)
        notebook.add_plan(start, plan)
        for i, state in enumerate(states):
            notebook.add_label(state, len(plan) - i)
        return {state.tobytes() for state in states}


def choose(searched: Searched, per_level: int, rng: np.random.Generator) -> Ints:
    """Rows of at most `per_level` random met states of each level."""
    order = rng.permutation(len(searched.owners))
    owners = searched.owners[order]
    by_owner = np.argsort(owners, kind="stable")
    ranks = np.arange(len(owners)) - np.searchsorted(owners[by_owner], owners[by_owner])
    return np.sort(order[by_owner[ranks < per_level]])
