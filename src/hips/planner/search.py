"""The best-first loop for every evaluation: many searches in lockstep, one batch per round."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hips.arrays import Bools, Grid, Grids, Ints
from hips.domains.base import Domain
from hips.errors import is_interrupt
from hips.planner.budget import available_bytes
from hips.planner.children import Children, Expander, stages_of, wants_effort
from hips.planner.estimates import Estimates
from hips.planner.evaluations import resolve
from hips.planner.frontier import Frontier
from hips.planner.kernels import Edges
from hips.planner.keys import Keys
from hips.planner.ledger import Ledger
from hips.planner.nodes import ROOT, NodeTable
from hips.planner.options import SearchOptions
from hips.planner.outcomes import Outcome
from hips.planner.pending import PendingNodes
from hips.planner.plans import Plans
from hips.planner.protocols import DynamicsMode
from hips.planner.result import Result, Statistics
from hips.planner.rounds import (
    Observer,
    Round,
    StopSearch,
    describe_expanded,
    describe_offered,
)
from hips.planner.stopwatch import Stopwatch
from hips.planner.validate import find_fault


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

    Every round pops the best nodes of each search and passes them to the expander as one batch.
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
    >>> from hips.planner.options import SearchOptions
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
        self.budget = self.options.budget
        """Limits from now on; a driver of several searches may change them between rounds."""
        self.evaluation = resolve(self.options.evaluation)
        given = self.options.total_bytes
        self.total_bytes = available_bytes() if given is None else given
        num_slots = min(self.options.batch, max(1, len(problems)))
        weighted = self.evaluation.rerooting is not None
        self.table = NodeTable(domain.spec.shape, num_slots, domain.spec.num_actions, weighted)
        self.keys = Keys(self.table, self.evaluation)
        self.ledger = Ledger(num_slots)
        self.num_stages = stages_of(expander)
        self.wants_effort = wants_effort(expander)
        self.plans = Plans(domain, self.table, self.ledger, expander)
        self.estimates = Estimates(self.table, self.ledger, self.evaluation, expander.heuristic)
        keep_first = self.options.close_on_generation
        self.pending = PendingNodes(
            domain, self.table, self.ledger, expander, self.keys, keep_first
        )
        self.frontier = Frontier(self.table, self.keys, self.estimates, self.pending)
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

    def advance(self) -> bool:
        """Runs one round; False once all searches have ended."""
        return self._advance(False) is not False

    def rounds(self) -> Iterator[Round]:
        """Runs the searches round by round; leaving the loop pauses them."""
        while (found := self._advance(True)) is not False:
            if isinstance(found, Round):
                yield found

    def stop(self) -> None:
        """Ends active and waiting searches as INTERRUPTED.

        It leaves the table alone, which an interrupt may have struck in the middle of a change.
        """
        for slot in self._active():
            index = int(self.problem_of[slot])
            statistics = self.statistics(slot)
            self._results[index] = self._result(index, Outcome.INTERRUPTED, statistics=statistics)
            self.problem_of[slot] = -1
        self._next_problem = len(self.problems)
        for index, result in enumerate(self._results):
            if result is None:
                self._results[index] = self._result(index, Outcome.INTERRUPTED)

    def results(self) -> list[Result]:
        """Results of all finished problems, in their order."""
        return [result for result in self._results if result is not None]

    def statistics(self, slot: int = 0) -> Statistics:
        """What the search in a slot has used so far, or used before it ended."""
        return self.ledger.statistics(slot, int(self.table.slot_bytes()[slot]))

    def _advance(self, watched: bool) -> Round | bool:
        """Runs a round; returns it if `watched`, else True; False once all searches have ended."""
        watch = Stopwatch()
        self._admit_waiting(watch.began)
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

    def _admit_waiting(self, now: float) -> None:
        """Gives free slots to waiting problems; those that need no search end immediately.

        Their clocks start at the beginning of the round, `now`: the round's seconds, which they
        pay for, contain the admission.
        """
        if self._next_problem == len(self.problems):
            return
        for slot in np.flatnonzero(self.problem_of < 0):
            while self.problem_of[slot] < 0 and self._next_problem < len(self.problems):
                index, self._next_problem = self._next_problem, self._next_problem + 1
                self._admit(int(slot), index, now)

    def _admit(self, slot: int, index: int, now: float) -> None:
        problem = np.asarray(self.problems[index])
        if reason := find_fault(self.domain, problem):
            self._report(index, Result(Outcome.INVALID_INPUT, message=reason))
            return
        if time.monotonic() >= self._deadline:
            self._report(index, self._result(index, Outcome.OUT_OF_TIME))
            return
        if self.domain.is_goal(problem[None])[0]:
            self._report(index, self._result(index, Outcome.SOLVED))
            return
        if self.domain.is_dead(problem[None])[0]:
            reason = self.domain.dead_reason(problem)
            self._report(index, self._result(index, Outcome.UNSOLVABLE, message=reason))
            return
        self.problem_of[slot] = index
        self.ledger.begin(slot, now)
        self.table.admit(slot, problem)

    def _end_over_budget(self, slots: Ints) -> None:
        """Ends searches whose frontier is exhausted or whose budget is spent."""
        self._end_all(slots, self._is_exhausted(slots), None)
        budget = self.budget
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

        Once no node reached by true steps is open, all states reachable by true steps have been
        expanded; neither states of the learned dynamics nor pending ones can lead to others.
        """
        empty = self.table.is_empty(slots)
        if self.expander.complete:
            empty |= self.table.num_open_true[slots] == 0
        return empty

    def _end_all(self, slots: Ints, ended: Bools, outcome: Outcome | None) -> None:
        if not ended.any():
            return
        for slot in slots[ended & (self.problem_of[slots] >= 0)]:
            exhausted = Outcome.UNSOLVABLE if self.expander.complete else None
            self._end(int(slot), outcome or exhausted or Outcome.UNSOLVED_INCOMPLETE)

    def _end(self, slot: int, outcome: Outcome, goal: int | None = None, message: str = "") -> None:
        """Records a result and frees the slot."""
        nodes = [] if goal is None else self.table.path(goal)
        index = int(self.problem_of[slot])
        result = self._result(
            index,
            outcome,
            plan=self.domain.spec.action_names(self.plans.actions(nodes)),
            segments=self.plans.segments(nodes),
            statistics=self.statistics(slot),
            message=message,
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
        """Expands the best nodes of every slot."""
        taken = self.frontier.take(slots, self._allowance(slots), watch)
        if not len(taken.nodes):
            self._end_solved(self._solved(slots, watch, taken.goals))
            return None
        nodes = taken.nodes
        owners = self.table.nodes["slot"][nodes].astype(np.int64)
        states = self.table.states(nodes)
        watch.lap("bookkeeping")
        children = self._children(nodes, owners, states, watched)
        watch.lap_split(children.costs.phases, "expansion")
        kinds = self.table.nodes["kind"][nodes]
        by_action = (kinds < 0) & (kinds != ROOT)
        self.ledger.add_expansions(owners, kinds >= 0, by_action, children)
        edges = self._evaluated(nodes, owners, children, watch)
        accepted = self.table.relax(edges, self.options.close_on_generation)
        watch.lap("bookkeeping")
        goals = np.concatenate([edges.ids[edges.goals], taken.goals])
        solved = self._solved(slots, watch, goals)
        found = None
        if watched:
            found = Round(
                self._rounds,
                describe_expanded(self.table, self.problem_of[owners], nodes, states),
                describe_offered(self.table, children, edges, accepted),
                children.rejected,
                self.table.num_open(owners),
            )
        self._end_solved(solved)
        return found

    def _allowance(self, slots: Ints) -> Ints:
        """How many nodes of each slot this round may expand, `[S]`."""
        most = np.full(len(slots), self.options.width)
        limit = self.budget.max_expansions
        return most if limit is None else np.minimum(most, limit - self.ledger.expansions()[slots])

    def _evaluated(self, nodes: Ints, owners: Ints, children: Children, watch: Stopwatch) -> Edges:
        """Edges from `nodes` of slots `owners` to their children, with h and keys."""
        parents = nodes[children.parents]
        origins = self.pending.origins(parents, children)
        ids, fresh = self.table.intern(owners[children.parents], origins, children.states)
        watch.lap("bookkeeping")
        goals = self.domain.is_goal(children.states)
        wanted = fresh & ~goals
        if children.pending is not None:
            goals &= ~children.pending
            new = fresh & children.pending
            self.pending.close_known(ids[new], parents[new])
        if children.pending is not None or self.expander.mode is DynamicsMode.HYBRID:
            wanted = self.pending.share_h(ids, wanted)
        self.estimates.estimate(ids, parents, wanted, children)
        watch.lap("heuristic")
        return self._edges(ids, parents, children, goals)

    def _solved(self, slots: Ints, watch: Stopwatch, goals: Ints) -> dict[int, int]:
        """The goals of valid plans by slot; closes the books of a round of `slots`."""
        solved = self.plans.best(goals, self._starts())
        watch.lap("validation")
        self.ledger.spend(len(slots), watch.seconds)
        self._rounds += 1
        return solved

    def _end_solved(self, solved: dict[int, int]) -> None:
        for slot, node in solved.items():
            self._end(slot, Outcome.SOLVED, node)

    def _children(self, nodes: Ints, owners: Ints, states: Grids, watched: bool) -> Children:
        """Children of popped nodes of slots `owners`; nodes with further stages are requeued."""
        if self.num_stages == 1:
            facts: dict[str, Ints] = {}
            if self.wants_effort:
                facts["effort"] = self.ledger.expansions()[owners]
            return self.expander.expand(states, explain=watched, **facts)
        stages = self.table.nodes["tier"][nodes].astype(np.int64)
        children = self.expander.expand(states, explain=watched, stages=stages)
        self.table.requeue(nodes[stages + 1 < self.num_stages])
        return children

    def _starts(self) -> list[Grid | None]:
        """The start state of every slot."""
        return [None if i < 0 else np.asarray(self.problems[i]) for i in self.problem_of.tolist()]

    def _edges(self, ids: Ints, parents: Ints, children: Children, goals: Bools) -> Edges:
        nodes = self.table.nodes
        log_pi = nodes["log_pi"][parents] + children.log_probabilities
        depths = nodes["depth"][parents] + 1
        steps = nodes["steps"][parents] + children.lengths
        keys = self.keys.of(parents, depths, steps, log_pi, nodes["h"][ids])
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
