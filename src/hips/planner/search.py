"""The best-first loop for every evaluation: many searches in lockstep, one batch per round."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hips.arrays import Bools, Floats, Grid, Grids, Ints
from hips.domains.base import Domain
from hips.errors import ConfigError, ContractError, is_interrupt
from hips.planner.budget import Budget, available_bytes
from hips.planner.children import Children, Expander, stages_of
from hips.planner.estimates import Estimates
from hips.planner.evaluations import Evaluation, KeyFunction, resolve
from hips.planner.kernels import Edges
from hips.planner.ledger import Ledger
from hips.planner.nodes import ROOT, NodeTable
from hips.planner.outcomes import Outcome
from hips.planner.plans import Plans
from hips.planner.rerooting import Rerooter
from hips.planner.result import Result
from hips.planner.rounds import (
    Observer,
    Round,
    StopSearch,
    describe_expanded,
    describe_offered,
)
from hips.planner.stopwatch import Stopwatch
from hips.planner.validate import find_fault

DEFAULT_BATCH = 64


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of the loop.

    Attributes:
        evaluation: name of a registered evaluation, or a key function.
        budget: limits of each search, and of all together.
        batch: searches in lockstep.
        total_bytes: memory limit of all searches together; beyond it, the largest one ends
            OUT_OF_MEMORY. None takes most of the free memory.
        close_on_generation: never update a generated state (the published protocol).
    """

    evaluation: str | Evaluation | KeyFunction = "phs_hat"
    budget: Budget = field(default_factory=Budget)
    batch: int = DEFAULT_BATCH
    total_bytes: int | None = None
    close_on_generation: bool = False

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ConfigError(f"A batch of {self.batch} searches is invalid; give 1 or more.")


def solve(domain: Domain, problem: Grid, expander: Expander, **options: Any) -> Result:
    """Searches for a plan from one start state; see `solve_many`."""
    return solve_many(domain, [problem], expander, **options)[0]


def solve_many(
    domain: Domain,
    problems: Sequence[Grid] | Grids,
    expander: Expander,
    observer: Observer | None = None,
    **options: Any,
) -> list[Result]:
    """Searches for plans from many start states; `options` are those of `SearchOptions`.

    Every round pops the best node of each search and passes them to the expander as one batch.
    When a search ends, a waiting one takes its slot. If policies treat rows independently,
    results do not depend on the batch.

    Returns:
        Results in the order of `problems`; INTERRUPTED ones after Ctrl-C.
    """
    return Search(domain, problems, expander, SearchOptions(**options), observer).run()


class Search:
    """Searches in lockstep, to run at once or round by round.

    >>> from hips import domains
    >>> from hips.planner.expander import Hybrid
    >>> from hips.planner.policies import UniformPolicy
    >>> tiles = domains.create("sliding_tiles", height=2, width=2)
    >>> expander = Hybrid(tiles, action_policy=UniformPolicy(4))
    >>> start = np.array([[1, 0], [2, 3]], dtype=np.uint8)
    >>> search = Search(tiles, [start], expander, SearchOptions("levin_ts"))
    >>> [len(one.offered.nodes) for one in search.rounds()], search.results()[0].plan
    ([2], ('left',))
    """

    def __init__(
        self,
        domain: Domain,
        problems: Sequence[Grid] | Grids,
        expander: Expander,
        options: SearchOptions | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.domain, self.problems, self.expander = domain, problems, expander
        self.options = options or SearchOptions()
        self.observer = observer
        self.evaluation = resolve(self.options.evaluation)
        given = self.options.total_bytes
        self.total_bytes = available_bytes() if given is None else given
        num_slots = min(self.options.batch, max(1, len(problems)))
        rerooting = self.evaluation.rerooting
        self.table = NodeTable(
            domain.spec.shape, num_slots, domain.spec.num_actions, rerooting is not None
        )
        self.rerooter = None if rerooting is None else Rerooter(self.table, rerooting)
        self.ledger = Ledger(num_slots)
        self.num_stages = stages_of(expander)
        self.plans = Plans(domain, self.table, self.ledger, expander)
        self.estimates = Estimates(self.table, self.ledger, self.evaluation, expander.heuristic)
        self.problem_of = np.full(num_slots, -1, dtype=np.int64)
        self._results: list[Result | None] = [None] * len(problems)
        self._next_problem = 0
        self._rounds = 0
        self._deadline = self.options.budget.deadline()

    # -- driving -------------------------------------------------------------------------------

    def run(self) -> list[Result]:
        """Runs all searches to the end; Ctrl-C or `StopSearch` makes them INTERRUPTED."""
        watched = self.observer is not None and self.observer.wants_rounds
        try:
            while self._advance(watched):
                pass
        except StopSearch:
            self.stop()
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            self.stop()
        return self.results()

    def rounds(self) -> Iterator[Round]:
        """Runs the searches round by round; leaving the loop pauses them."""
        while (found := self._advance(True)) is not False:
            if isinstance(found, Round):
                yield found

    def stop(self) -> None:
        """Ends active and waiting searches as INTERRUPTED."""
        for slot in self._active():
            index = int(self.problem_of[slot])
            statistics = self.ledger.statistics(slot, int(self.table.slot_bytes()[slot]))
            self._results[index] = self._result(index, Outcome.INTERRUPTED, statistics=statistics)
            self.table.release(int(slot))
            self.problem_of[slot] = -1
        self._next_problem = len(self.problems)
        for index, result in enumerate(self._results):
            if result is None:
                self._results[index] = self._result(index, Outcome.INTERRUPTED)

    def results(self) -> list[Result]:
        """Results of all finished problems, in their order."""
        return [result for result in self._results if result is not None]

    def _advance(self, watched: bool) -> Round | bool:
        """Runs a round; returns it if `watched`, else True; False once all searches have ended."""
        watch = Stopwatch()
        self._admit_waiting()
        slots = self._active()
        if not len(slots):
            return False
        self._end_over_budget(slots)
        slots = self._active()
        if not len(slots):
            return True
        try:
            found = self._expand(slots, watch, watched)
        except MemoryError:
            # The popped nodes are lost, so no search may continue to a proof.
            for slot in self._active():
                self._end(int(slot), Outcome.OUT_OF_MEMORY)
            return True
        if found is not None and self.observer is not None and self.observer.wants_rounds:
            self.observer.on_round(found)
        return True if found is None else found

    def _active(self) -> Ints:
        return np.flatnonzero(self.problem_of >= 0)

    # -- beginning and end ---------------------------------------------------------------------

    def _admit_waiting(self) -> None:
        """Gives free slots to waiting problems; those that need no search end immediately."""
        if self._next_problem == len(self.problems):
            return
        for slot in np.flatnonzero(self.problem_of < 0):
            while self.problem_of[slot] < 0 and self._next_problem < len(self.problems):
                index, self._next_problem = self._next_problem, self._next_problem + 1
                self._admit(int(slot), index)

    def _admit(self, slot: int, index: int) -> None:
        problem = np.asarray(self.problems[index])
        if reason := find_fault(self.domain, problem):
            self._report(index, Result(Outcome.INVALID_INPUT, message=reason))
            return
        if time.monotonic() >= self._deadline:
            self._report(index, self._result(index, Outcome.OUT_OF_TIME))
            return
        self.problem_of[slot] = index
        self.ledger.begin(slot)
        self.table.admit(slot, problem)
        if self.domain.is_goal(problem[None])[0]:
            self._end(slot, Outcome.SOLVED)

    def _end_over_budget(self, slots: Ints) -> None:
        """Ends searches whose frontier is exhausted or whose budget is spent."""
        self._end_all(slots, self._is_exhausted(slots), None)
        budget = self.options.budget
        for used, limit, outcome in (
            (self.ledger.expansions, budget.max_expansions, Outcome.OUT_OF_EXPANSIONS),
            (self.ledger.seconds, budget.max_seconds, Outcome.OUT_OF_TIME),
            (self.table.slot_bytes, budget.max_memory, Outcome.OUT_OF_MEMORY),
        ):
            if limit is not None:
                self._end_all(slots, used()[slots] >= limit, outcome)
        if math.isfinite(self._deadline) and time.monotonic() >= self._deadline:
            self._end_all(slots, np.ones(len(slots), dtype=np.bool_), Outcome.OUT_OF_TIME)
        while self.table.used_bytes > self.total_bytes:
            self._end(int(self.table.slot_bytes().argmax()), Outcome.OUT_OF_MEMORY)

    def _is_exhausted(self, slots: Ints) -> Bools:
        """Which searches have no open node that could still lead to a plan.

        Once no trusted node is open, all states reachable by true steps have been expanded;
        further states of the learned dynamics cannot be on a path to a goal.
        """
        empty = self.table.is_empty(slots)
        if self.expander.complete:
            empty |= self.table.num_open_trusted[slots] == 0
        return empty

    def _end_all(self, slots: Ints, ended: Bools, outcome: Outcome | None) -> None:
        if not ended.any():
            return
        for slot in slots[ended & (self.problem_of[slots] >= 0)]:
            exhausted = Outcome.UNSOLVABLE if self.expander.complete else None
            self._end(int(slot), outcome or exhausted or Outcome.UNSOLVED_INCOMPLETE)

    def _end(self, slot: int, outcome: Outcome, goal: int | None = None) -> None:
        """Records a result and frees the slot."""
        nodes = [] if goal is None else self.table.path(goal)
        index = int(self.problem_of[slot])
        result = self._result(
            index,
            outcome,
            plan=self.domain.spec.action_names(self.plans.actions(nodes)),
            segments=self.plans.segments(nodes),
            statistics=self.ledger.statistics(slot, int(self.table.slot_bytes()[slot])),
        )
        self.table.release(slot)
        self.problem_of[slot] = -1
        self._report(index, result)

    def _result(self, index: int, outcome: Outcome, **facts: Any) -> Result:
        start = np.asarray(self.problems[index])
        return Result(outcome, start=start, domain=self.domain, **facts)

    def _report(self, index: int, result: Result) -> None:
        self._results[index] = result
        if self.observer is not None:
            self.observer.on_result(index, result)

    # -- one round -----------------------------------------------------------------------------

    def _expand(self, slots: Ints, watch: Stopwatch, watched: bool) -> Round | None:
        """Expands the best node of every slot."""
        nodes = self._take(slots, watch)
        states = self.table.states(nodes)
        watch.lap("bookkeeping")
        children = self._children(nodes, states, watched)
        watch.lap_split(children.costs.phases, "expansion")
        kinds = self.table.nodes["kind"][nodes]
        by_action = (kinds < 0) & (kinds != ROOT)
        self.ledger.add_expansions(slots, kinds >= 0, by_action, children)
        trusted = children.exact & (self.table.nodes["trusted"][nodes] > 0)[children.parents]
        ids, fresh = self.table.intern(slots[children.parents], trusted, children.states)
        watch.lap("bookkeeping")
        goals = self.domain.is_goal(children.states)
        origins = nodes[children.parents]
        self.estimates.estimate(ids, origins, fresh & ~goals, children)
        watch.lap("heuristic")
        edges = self._edges(ids, origins, children, goals)
        accepted = self.table.relax(edges, self.options.close_on_generation)
        watch.lap("bookkeeping")
        solved = self.plans.best(ids, goals, self._starts())
        watch.lap("validation")
        self.ledger.spend(len(slots), watch.seconds)
        self._rounds += 1
        found = None
        if watched:
            expanded = describe_expanded(self.table, self.problem_of[slots], nodes, states)
            offered = describe_offered(self.table, children, edges, accepted)
            waiting = self.table.num_open(slots)
            found = Round(self._rounds, expanded, offered, children.rejected, waiting)
        for slot, node in solved.items():
            self._end(slot, Outcome.SOLVED, node)
        return found

    def _children(self, nodes: Ints, states: Grids, watched: bool) -> Children:
        """Children of popped nodes; nodes with further stages go back to the queue."""
        if self.num_stages == 1:
            return self.expander.expand(states, explain=watched)
        stages = self.table.nodes["tier"][nodes].astype(np.int64)
        children = self.expander.expand(states, explain=watched, stages=stages)
        self.table.requeue(nodes[stages + 1 < self.num_stages])
        return children

    def _starts(self) -> list[Grid | None]:
        """The start state of every slot."""
        return [None if i < 0 else np.asarray(self.problems[i]) for i in self.problem_of.tolist()]

    def _take(self, slots: Ints, watch: Stopwatch) -> Ints:
        """Pops the best node of every slot; computes a guessed h and requeues the node first."""
        taken = self.table.pop(slots)
        watch.lap("bookkeeping")
        while len(early := np.flatnonzero(self.estimates.is_guessed(taken))):
            self.estimates.settle(taken[early])
            found = self.table.nodes[taken[early]]
            keys = self._keys(
                found["parent"], found["depth"], found["steps"], found["log_pi"], found["h"]
            )
            self.table.put_back(taken[early], keys)
            taken[early] = self.table.pop(slots[early])
            watch.lap("heuristic")
        if self.rerooter is not None:
            self.estimates.settle(taken)
            self.rerooter.weigh(taken)
            watch.lap("heuristic")
        return taken

    def _edges(self, ids: Ints, parents: Ints, children: Children, goals: Bools) -> Edges:
        nodes = self.table.nodes
        log_pi = nodes["log_pi"][parents] + children.log_probabilities
        depths = nodes["depth"][parents] + 1
        steps = nodes["steps"][parents] + children.lengths
        keys = self._keys(parents, depths, steps, log_pi, nodes["h"][ids])
        return Edges(
            ids,
            parents,
            log_pi,
            children.lengths,
            children.kinds,
            children.tiers,
            keys,
            goals,
            children.actions,
        )

    def _keys(
        self,
        parents: npt.NDArray[Any],
        depths: npt.NDArray[Any],
        steps: npt.NDArray[Any],
        log_pi: Floats,
        h: npt.NDArray[Any],
    ) -> Floats:
        if self.rerooter is not None:
            return self.rerooter.keys(parents, log_pi)
        keys = np.asarray(
            self.evaluation.key(
                depths.astype(np.int64), steps.astype(np.int64), log_pi, h.astype(np.float64)
            ),
            dtype=np.float64,
        )
        if keys.shape != h.shape or np.isnan(keys).any():
            raise ContractError(f"an evaluation must return {len(h)} keys without NaN")
        return keys
