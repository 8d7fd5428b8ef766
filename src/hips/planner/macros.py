"""Search by what a domain knows: its macros, its estimate, and its way to tidy a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hips.arrays import Floats, Grid, Grids, Ints
from hips.domains.base import Domain
from hips.errors import ContractError
from hips.planner.budget import Budget
from hips.planner.children import COSTS, Children, Costs
from hips.planner.protocols import DynamicsMode, Heuristic
from hips.planner.result import Result, Segment
from hips.planner.rollouts import Rollouts
from hips.planner.rounds import Observer, Round
from hips.planner.search import Search
from hips.planner.solvers import SearchSolver
from hips.planner.stopwatch import Stopwatch
from hips.planner.validate import is_plan


@dataclass(frozen=True, slots=True)
class DomainEstimate:
    """The domain's own estimate of the steps to a goal."""

    domain: Domain

    def distances(self, states: Grids) -> Floats:
        """Estimates `[B]`."""
        found = self.domain.estimate(states)
        if found is None:
            raise ContractError(f"'{self.domain.name}' has no estimate")
        return found


def has_estimate(domain: Domain) -> bool:
    """Whether a domain has an estimate of its own."""
    return domain.estimate(_no_states(domain)) is not None


def has_macros(domain: Domain) -> bool:
    """Whether a domain suggests macros."""
    return domain.macros(_no_states(domain)) is not None


def _no_states(domain: Domain) -> Grids:
    return np.zeros((0, *domain.spec.shape), dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class MacroExpander:
    """Children are the ends of the domain's macros, all equally likely; not complete by itself.

    Attributes:
        domain: the domain.
        heuristic: h of the search.
    """

    domain: Domain
    heuristic: Heuristic | None = None
    complete: bool = False
    mode: DynamicsMode = DynamicsMode.TRUE

    def expand(self, states: Grids, explain: bool = False, stages: Ints | None = None) -> Children:
        """Children of `states [B, H, W]`."""
        watch = Stopwatch()
        costs = Costs(np.zeros((len(states), len(COSTS)), dtype=np.int64), watch.seconds)
        macros = self.domain.macros(states)
        if macros is None:
            raise ContractError(f"'{self.domain.name}' has no macros")
        parents = macros.parents
        counts = np.bincount(parents, minlength=len(states))
        watch.lap("macros")
        return Children(
            parents,
            macros.states,
            -np.log(counts[parents]),
            macros.lengths,
            np.zeros(len(parents), dtype=np.int32),
            np.zeros(len(parents), dtype=np.uint8),
            np.ones(len(parents), dtype=np.bool_),
            macros.actions.astype(np.uint16),
            costs,
        )

    def connect(self, starts: Grids, targets: Grids) -> Rollouts:
        """Macros have all their actions; nothing is pending."""
        raise ContractError("an edge has no actions, and there is nothing to find them with")


@dataclass(frozen=True, slots=True)
class TidySolver:
    """A search whose plans the domain tidies: macros may take detours."""

    inner: SearchSolver

    @property
    def heuristic(self) -> Heuristic | None:
        """The search's."""
        return self.inner.heuristic

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Searches all levels; see `Solver`."""
        passed = None if observer is None else _Tidying(observer)
        return [tidied(one) for one in self.inner.solve_many(domain, levels, budget, passed)]

    def start(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> Search:
        """The searches before their first round; their plans stay as found."""
        return self.inner.start(domain, levels, budget, observer)


class _Tidying(Observer):
    """Tidies the plans of results and passes everything on."""

    def __init__(self, observer: Observer) -> None:
        self.observer, self.wants_rounds = observer, observer.wants_rounds

    def on_round(self, round: Round) -> None:
        """Passes the round on."""
        self.observer.on_round(round)

    def on_result(self, index: int, result: Result) -> None:
        """Passes the tidied result on."""
        self.observer.on_result(index, tidied(result))


def tidied(result: Result) -> Result:
    """The result with the domain's tidier plan, if that is shorter and reaches the goal."""
    domain, start = result.domain, result.start
    if not result.solved or domain is None or start is None:
        return result
    plan = domain.tidy(start, domain.spec.action_indices(result.plan))
    if len(plan) >= len(result.plan) or not is_plan(domain, start, plan):
        return result
    segments = (Segment("improved", "tidied", len(plan)),)
    return replace(result, plan=domain.spec.action_names(plan), segments=segments)
