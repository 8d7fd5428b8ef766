"""One best-first loop for every evaluation: many searches in lockstep, one batch per round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hips.domains.base import Actions, Bools, Domain, Grid, Grids
from hips.errors import ConfigError, ContractError, is_interrupt
from hips.planner import kernels
from hips.planner.budget import Budget, available_bytes
from hips.planner.estimates import Estimates
from hips.planner.evaluations import Evaluation, KeyFunction, resolve
from hips.planner.ledger import Ledger
from hips.planner.nodes import ROOT, NodeTable
from hips.planner.outcomes import Outcome
from hips.planner.protocols import Children, DynamicsMode, Expander, Floats, Ints
from hips.planner.result import Result, Segment
from hips.planner.stopwatch import Stopwatch
from hips.planner.validate import is_plan

OnResult: TypeAlias = Callable[[int, Result], None]


def solve(
    domain: Domain,
    problem: Grid,
    expander: Expander,
    evaluation: str | Evaluation | KeyFunction = "phs_hat",
    budget: Budget | None = None,
    *,
    close_on_generation: bool = False,
    seed: int | None = None,
) -> Result:
    """Searches a plan for one start state; `solve_many` of one."""
    return solve_many(
        domain,
        [problem],
        expander,
        evaluation,
        budget,
        batch=1,
        close_on_generation=close_on_generation,
        seed=seed,
    )[0]


def solve_many(
    domain: Domain,
    problems: Sequence[Grid] | Grids,
    expander: Expander,
    evaluation: str | Evaluation | KeyFunction = "phs_hat",
    budget: Budget | None = None,
    *,
    batch: int = 64,
    total_bytes: int | None = None,
    close_on_generation: bool = False,
    seed: int | None = None,
    on_result: OnResult | None = None,
) -> list[Result]:
    """Searches plans for many start states, `batch` of them at a time.

    Every round expands the best node of each search and gives the expander one batch of them.
    A search that ends makes room for one that waits. With policies that treat rows alike whatever
    their batch, results do not depend on `batch`.

    Args:
        domain: the true domain.
        problems: start states `[H, W]`.
        expander: makes children.
        evaluation: name of a registered evaluation, or a key function.
        budget: limits of each search.
        batch: searches in lockstep.
        total_bytes: memory of all searches together; beyond it the largest one ends
            OUT_OF_MEMORY. None takes most of what is free.
        close_on_generation: never update a generated state (the published protocol).
        seed: noted in the results.
        on_result: called with index and result whenever a search ends.

    Returns:
        Results in the order of `problems`; INTERRUPTED ones after Ctrl-C.
    """
    if batch < 1:
        raise ConfigError(f"A batch of {batch} searches is impossible; give 1 or more.")
    lockstep = _Lockstep(
        domain,
        problems,
        expander,
        resolve(evaluation),
        budget or Budget(),
        min(batch, max(1, len(problems))),
        available_bytes() if total_bytes is None else total_bytes,
        close_on_generation,
        seed,
        on_result,
    )
    return lockstep.run()


class _Lockstep:
    """The state of `solve_many`."""

    def __init__(
        self,
        domain: Domain,
        problems: Sequence[Grid] | Grids,
        expander: Expander,
        evaluation: Evaluation,
        budget: Budget,
        num_slots: int,
        total_bytes: int,
        close_on_generation: bool,
        seed: int | None,
        on_result: OnResult | None,
    ) -> None:
        self.domain, self.problems, self.expander = domain, problems, expander
        self.evaluation, self.budget, self.total_bytes = evaluation, budget, total_bytes
        self.close_on_generation, self.seed, self.on_result = close_on_generation, seed, on_result
        self.table = NodeTable(domain.spec.shape, num_slots, domain.spec.num_actions)
        self.ledger = Ledger(num_slots)
        self.estimates = Estimates(self.table, self.ledger, evaluation, expander.heuristic)
        self.problem_of = np.full(num_slots, -1, dtype=np.int64)
        self.results: list[Result | None] = [None] * len(problems)
        self.next_problem = 0

    def run(self) -> list[Result]:
        """Runs all searches to their ends."""
        try:
            self._admit_waiting()
            while len(slots := self._active()):
                self._end_over_budget(slots)
                if len(slots := self._active()):
                    self._run_round(slots)
                self._admit_waiting()
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            self._interrupt()
        return [result for result in self.results if result is not None]

    def _run_round(self, slots: Ints) -> None:
        try:
            self._expand(slots)
        except MemoryError:
            # The nodes taken from the queues are lost, so no search may go on to a proof.
            for slot in self._active():
                self._end(int(slot), Outcome.OUT_OF_MEMORY)

    def _active(self) -> Ints:
        return np.flatnonzero(self.problem_of >= 0)

    # -- beginning and end ---------------------------------------------------------------------

    def _admit_waiting(self) -> None:
        """Gives free slots to waiting problems; those that need no search end at once."""
        if self.next_problem == len(self.problems):
            return
        for slot in np.flatnonzero(self.problem_of < 0):
            while self.problem_of[slot] < 0 and self.next_problem < len(self.problems):
                index, self.next_problem = self.next_problem, self.next_problem + 1
                self._admit(int(slot), index)

    def _admit(self, slot: int, index: int) -> None:
        problem = np.asarray(self.problems[index])
        if reason := _fault(self.domain, problem):
            self._report(index, Result(Outcome.INVALID_INPUT, seed=self.seed, message=reason))
            return
        self.problem_of[slot] = index
        self.ledger.begin(slot)
        self.table.admit(slot, problem)
        if self.domain.is_goal(problem[None])[0]:
            self._end(slot, Outcome.SOLVED)

    def _end_over_budget(self, slots: Ints) -> None:
        """Ends searches whose frontier is exhausted or whose budget is spent."""
        self._end_all(slots, self._is_exhausted(slots), None)
        for used, limit, outcome in (
            (self.ledger.expansions, self.budget.expansions, Outcome.OUT_OF_EXPANSIONS),
            (self.ledger.elapsed, self.budget.seconds, Outcome.OUT_OF_TIME),
            (self.table.slot_bytes, self.budget.bytes, Outcome.OUT_OF_MEMORY),
        ):
            if limit is not None:
                self._end_all(slots, used()[slots] >= limit, outcome)
        while self.table.used_bytes > self.total_bytes:
            self._end(int(self.table.slot_bytes().argmax()), Outcome.OUT_OF_MEMORY)

    def _is_exhausted(self, slots: Ints) -> Bools:
        """Which searches have nothing to expand, or nothing that could still matter.

        All states reachable by true steps are expanded once no trusted node is open; what a
        model believes beside them cannot be a way to a goal.
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
        segments = tuple(self._segment(node) for node in nodes)
        plan = self.domain.spec.action_names(self._plan(nodes))
        statistics = self.ledger.statistics(slot, int(self.table.slot_bytes()[slot]))
        index = int(self.problem_of[slot])
        self._report(index, Result(outcome, plan, segments, statistics, self.seed))
        self.table.release(slot)
        self.problem_of[slot] = -1

    def _report(self, index: int, result: Result) -> None:
        self.results[index] = result
        if self.on_result is not None:
            self.on_result(index, result)

    def _interrupt(self) -> None:
        """Reports what is known of the searches under way and of those that wait."""
        for slot in self._active():
            index = int(self.problem_of[slot])
            statistics = self.ledger.statistics(slot, int(self.table.slot_bytes()[slot]))
            self.results[index] = Result(Outcome.INTERRUPTED, (), (), statistics, self.seed)
        waiting = Result(Outcome.INTERRUPTED, seed=self.seed)
        self.results = [result or waiting for result in self.results]

    # -- one round -----------------------------------------------------------------------------

    def _expand(self, slots: Ints) -> None:
        """Expands the best node of every slot."""
        watch = Stopwatch()
        parents = self._take(slots, watch)
        states = self.table.states(parents)
        watch.lap("bookkeeping")
        children = self.expander.expand(states)
        watch.lap_split(children.phases, "expansion")
        child_slots = slots[children.parents]
        self._count(slots, parents, children)
        trusted = children.exact & (self.table.nodes["trusted"][parents] > 0)[children.parents]
        ids, fresh = self.table.intern(child_slots, trusted, children.states)
        watch.lap("bookkeeping")
        goals = self.domain.is_goal(children.states)
        origins = parents[children.parents]
        self.estimates.estimate(ids, origins, fresh & ~goals, children)
        watch.lap("heuristic")
        self._relax(ids, origins, children, goals)
        watch.lap("bookkeeping")
        self._try_goals(ids, goals)
        watch.lap("validation")
        self.ledger.spend(len(slots), watch.seconds)

    def _take(self, slots: Ints, watch: Stopwatch) -> Ints:
        """The best node of every slot; one whose h was only a guess goes back until it is known."""
        taken = self.table.pop(slots)
        watch.lap("bookkeeping")
        while len(early := np.flatnonzero(self.estimates.is_guessed(taken))):
            self.estimates.settle(taken[early])
            found = self.table.nodes[taken[early]]
            keys = self._keys(found["depth"], found["steps"], found["log_pi"], found["h"])
            self.table.put_back(taken[early], keys)
            taken[early] = self.table.pop(slots[early])
            watch.lap("heuristic")
        return taken

    def _count(self, slots: Ints, parents: Ints, children: Children) -> None:
        kinds = self.table.nodes["kind"][parents]
        self.ledger.add_expansions(
            slots,
            (
                kinds >= 0,
                (kinds < 0) & (kinds != ROOT),
                np.bincount(children.parents, minlength=len(slots)),
                children.network_calls,
                children.model_calls,
                children.environment_steps,
            ),
        )

    def _relax(self, ids: Ints, parents: Ints, children: Children, goals: Bools) -> None:
        nodes = self.table.nodes
        log_pi = nodes["log_pi"][parents] + children.log_probabilities
        depths = nodes["depth"][parents] + 1
        steps = nodes["steps"][parents] + children.lengths
        keys = self._keys(depths, steps, log_pi, nodes["h"][ids])
        self.table.relax(ids, parents, log_pi, keys, children, goals, self.close_on_generation)

    def _keys(
        self, depths: npt.NDArray[Any], steps: npt.NDArray[Any], log_pi: Floats, h: npt.NDArray[Any]
    ) -> Floats:
        keys = np.asarray(
            self.evaluation.key(
                depths.astype(np.int64), steps.astype(np.int64), log_pi, h.astype(np.float64)
            ),
            dtype=np.float64,
        )
        if keys.shape != h.shape or np.isnan(keys).any():
            raise ContractError(f"an evaluation must return {len(h)} keys, none of them NaN")
        return keys

    # -- goals ---------------------------------------------------------------------------------

    def _try_goals(self, ids: Ints, goals: Bools) -> None:
        """Ends searches whose plan passes the replay; other plans are rejected and counted."""
        if not goals.any():
            return
        nodes = self.table.nodes
        found = np.unique(ids[goals])
        ranks = (nodes["order"][found], nodes["key"][found], nodes["tier"][found])
        for node in found[np.lexsort(ranks)]:
            slot = int(nodes["slot"][node])
            # The search may have ended with a better goal of the same round.
            if nodes["status"][node] != kernels.GOAL or self.problem_of[slot] < 0:
                continue
            if self._is_valid(slot, int(node)):
                self._end(slot, Outcome.SOLVED, int(node))
            else:
                nodes["status"][node] = kernels.REJECTED
                self.ledger.count("replans")[slot] += 1

    def _is_valid(self, slot: int, node: int) -> bool:
        start = np.asarray(self.problems[self.problem_of[slot]])
        plan = self._plan(self.table.path(node))
        valid = is_plan(self.domain, start, plan)
        if self.expander.mode is not DynamicsMode.TRUE:
            self.ledger.count("environment_steps")[slot] += len(plan)
        elif not valid:
            raise ContractError(
                f"'{self.domain.name}': a plan made by its own `step` fails when replayed; "
                "`step` must be deterministic and must not modify its input"
            )
        return valid

    def _plan(self, nodes: list[int]) -> Actions:
        edges = [self.table.edge_actions(node) for node in nodes]
        return np.concatenate(edges) if edges else np.zeros(0, dtype=np.int64)

    def _segment(self, node: int) -> Segment:
        kind = int(self.table.nodes["kind"][node])
        if kind >= 0:
            return Segment("subgoal", str(kind), len(self.table.edge_actions(node)))
        return Segment("action", self.domain.spec.actions[~kind], 1)


def _fault(domain: Domain, problem: Grid) -> str:
    """Why a grid cannot be a problem of `domain`; empty if it can."""
    shape = domain.spec.shape
    if problem.shape != shape or problem.dtype != np.uint8:
        size = math.prod(problem.shape)
        return f"a level must be a uint8 grid {shape}, got {problem.dtype} {problem.shape} ({size})"
    if int(problem.max()) >= domain.spec.num_symbols:
        return f"cells must be 0 … {domain.spec.num_symbols - 1}, got {int(problem.max())}"
    return ""
