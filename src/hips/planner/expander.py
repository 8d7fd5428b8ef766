"""Children of a node: subgoals for speed, low-level actions for completeness (eq:pi)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hips.arrays import ActionLog, Bools, Floats, Grids, Ints, Ints32
from hips.domains.base import Domain
from hips.errors import ConfigError, ContractError
from hips.planner import rollouts
from hips.planner.children import COSTS, Children, Costs, Fate, Rejected
from hips.planner.packing import differ, pack
from hips.planner.proposals import (
    count_fates,
    merge,
    normalise,
    rejections,
    screen,
    sort_by_parent,
)
from hips.planner.protocols import (
    ActionPolicy,
    CheckedDynamics,
    Dynamics,
    DynamicsMode,
    Heuristic,
    Proposals,
    ReachPolicy,
    SubgoalGenerator,
    calls_of,
    checked_log_probabilities,
)
from hips.planner.rollouts import Reacher, RolloutLimits, Simulator, takes_learned_dynamics
from hips.planner.settings import TO_ZERO
from hips.planner.stopwatch import Stopwatch

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class _Edges:
    """Children of one kind before mixing; fields as in `Children`."""

    parents: Ints
    states: Grids
    log_probabilities: Floats
    lengths: Ints
    kinds: Ints32
    actions: ActionLog
    exact: Bools | None = None
    pending: Bools | None = None


class _Books:
    """Running costs of one expansion of B nodes; see `Costs`."""

    def __init__(self, count: int) -> None:
        self.watch = Stopwatch()
        self.costs = Costs(np.zeros((count, len(COSTS)), dtype=np.int64), self.watch.seconds)
        self.environment, self.rows, self.calls, self.network, self.reach = self.costs.counts[
            :, :5
        ].T
        self.rejected: Rejected | None = None
        self.action_log_probabilities: Floats | None = None


@dataclass(frozen=True, slots=True)
class ExpansionRules:
    """Which proposed children count, and how much.

    Attributes:
        sum_equal: whether equal subgoals of one node share the sum of their probabilities; if
            not, the largest.
        check_learned: whether states of learned dynamics must be legal. Where true steps follow
            learned ones they must be in any case: the rules are undefined on other grids.
        prune_dead: whether children that the domain proves dead are dropped.
    """

    sum_equal: bool = True
    check_learned: bool = True
    prune_dead: bool = False


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The union of a generator's subgoals and the low-level actions, mixed by ε (eq:pi).

    Attributes:
        domain: the true domain.
        generator: proposes subgoals; None for low-level search.
        action_policy: π_BC over actions; None leaves actions out: plain HIPS, not complete.
        epsilon: ε in (0, 1], or 0 for the limit ε → 0, where nodes reached by subgoals always
            come first and π_SG and π_BC are not mixed.
        reach_policy: finds the actions to a subgoal, if the generator proposes states.
        heuristic: h, or None for h = 0.
        mode: which dynamics simulate subgoals and actions.
        dynamics: learned dynamics, for modes other than `TRUE`.
        limits: limits of a rollout to a subgoal; None takes the domain's horizon.
        rules: which children count, and how much.
        reacher: another way to subgoals than rollouts of `reach_policy` at once.
    """

    domain: Domain
    generator: SubgoalGenerator | None = None
    action_policy: ActionPolicy | None = None
    epsilon: float = 1e-3
    reach_policy: ReachPolicy | None = None
    heuristic: Heuristic | None = None
    mode: DynamicsMode = DynamicsMode.TRUE
    dynamics: Dynamics | None = None
    limits: RolloutLimits | None = None
    rules: ExpansionRules = ExpansionRules()
    reacher: Reacher | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"ε = {self.epsilon} is not in (0, 1]; 0 means the limit ε→0.")
        if self.generator is None and self.action_policy is None:
            raise ConfigError("A search needs a subgoal generator, low-level actions, or both.")
        if self.generator is None and self.epsilon < 1.0:
            object.__setattr__(self, "epsilon", 1.0)
        if self.mode is not DynamicsMode.TRUE and self.dynamics is None:
            raise ConfigError(
                f"Dynamics '{self.mode.value}' needs learned dynamics; give a model with them."
            )
        learned = self.mode is not DynamicsMode.TRUE
        if learned and self.reacher is not None and not takes_learned_dynamics(self.reacher):
            raise ConfigError("Only rollouts of a reach policy can use learned dynamics.")
        if self.limits is None:
            object.__setattr__(self, "limits", RolloutLimits(self.domain.preset.horizon))

    @property
    def complete(self) -> bool:
        """Whether every applicable action is a child, made by the true domain."""
        return self.action_policy is not None and self.mode is not DynamicsMode.LEARNED

    def expand(self, states: Grids, explain: bool = False, stages: Ints | None = None) -> Children:
        """Children of `states [B, H, W]`; each parent's probabilities sum to 1 (ε > 0)."""
        books = _Books(len(states))
        subgoals = self._subgoals(states, books, explain)
        actions = self._actions(states, books)
        books.watch.lap("actions")
        return self._mix(len(states), subgoals, actions, books)

    def connect(self, starts: Grids, targets: Grids) -> rollouts.Rollouts:
        """The actions of pending edges, which only a `reacher` leaves."""
        if self.reacher is None:
            raise ContractError("an edge has no actions, and there is nothing to find them with")
        ends = self.reacher.connect(self._simulator(), starts, targets)
        success = np.zeros(len(starts), dtype=np.bool_)
        success[self._valid(ends.states, ends.success, starts, np.arange(len(starts)))] = True
        return replace(ends, success=success)

    # -- subgoals ------------------------------------------------------------------------------

    def _subgoals(self, states: Grids, books: _Books, explain: bool) -> _Edges:
        """Distinct reached subgoals, with π_SG normalised over them."""
        if self.generator is None or (self.epsilon == 1.0 and self.action_policy is not None):
            return _no_edges(states)
        proposals = self.generator.propose(states)
        books.watch.lap("proposals")
        proposals.check(states, self.domain.spec.num_actions)
        books.network += proposals.calls
        books.action_log_probabilities = self._shared_actions(proposals)
        ordered = sort_by_parent(proposals)
        screened = screen(self.domain, states, ordered, self._checks_legality, self.rules.sum_equal)
        usable, fates = screened.usable, screened.fates
        parents = usable.parents
        books.watch.lap("filter")
        ends = self._reach(states, usable, books)
        books.watch.lap("rollouts")
        valid = self._valid(ends.states, ends.success, states, parents)
        kept, log_probabilities = merge(
            valid,
            parents,
            ends.states,
            ends.lengths,
            usable.log_probabilities,
            self.rules.sum_equal,
        )
        fates[screened.rows] = Fate.UNREACHED
        fates[screened.rows[valid]] = Fate.REPEATED
        fates[screened.rows[kept]] = Fate.KEPT
        if ends.pending is not None:
            fates[screened.rows[kept[ends.pending[kept]]]] = Fate.PENDING
        books.costs.proposals[:] = count_fates(ordered.parents, fates, len(states))
        if explain:
            books.rejected = rejections(ordered, fates, ends.states)
        return _Edges(
            parents[kept],
            ends.states[kept],
            normalise(log_probabilities, parents[kept], len(states)),
            ends.lengths[kept],
            usable.codes[kept].astype(np.int32),
            ends.actions[kept],
            None if ends.exact is None else ends.exact[kept],
            None if ends.pending is None else ends.pending[kept],
        )

    def _shared_actions(self, proposals: Proposals) -> Floats | None:
        """π_BC, if the generator shares the action policy's network and returned it."""
        shared = getattr(self.generator, "action_policy", None)
        if self.action_policy is None or shared is not self.action_policy:
            return None
        return proposals.action_log_probabilities

    def _reach(self, states: Grids, proposals: Proposals, books: _Books) -> rollouts.Rollouts:
        """Rolls out towards every target, or executes every action list."""
        assert self.limits is not None
        learned = self.mode is not DynamicsMode.TRUE
        simulator = self._simulator()
        starts, parents = states[proposals.parents], proposals.parents
        if proposals.actions is not None:
            ends = rollouts.execute(simulator, starts, proposals.actions)
        elif self.reacher is not None and proposals.targets is not None:
            ends = self.reacher.reach(simulator, starts, proposals.targets, parents)
            self._count_reach(books, parents, ends.policy_calls)
        elif self.reach_policy is None or proposals.targets is None:
            raise ContractError("a generator that proposes states needs a reach policy")
        else:
            ends = rollouts.follow(
                simulator, self.reach_policy, starts, proposals.targets, self.limits
            )
            self._count_reach(books, parents, ends.policy_calls * calls_of(self.reach_policy))
        np.add.at(books.rows if learned else books.environment, parents, ends.simulated)
        if learned:
            np.maximum.at(books.calls, parents, ends.simulated)
        return ends

    def _simulator(self) -> Simulator:
        """The dynamics of subgoals."""
        assert self.limits is not None
        is_goal = self.domain.is_goal if self.limits.pass_goals else rollouts.no_goal
        dynamics = self._step_function(self.mode is not DynamicsMode.TRUE)
        return Simulator(dynamics.step, is_goal, self.domain.spec.num_actions)

    def _count_reach(self, books: _Books, parents: Ints, rows: Ints) -> None:
        np.add.at(books.network, parents, rows)
        np.add.at(books.reach, parents, rows)

    def _step_function(self, learned: bool) -> Dynamics:
        dynamics = self.dynamics if learned else None
        return CheckedDynamics(self.domain if dynamics is None else dynamics)

    @property
    def _checks_legality(self) -> bool:
        return self.rules.check_learned or self.mode is not DynamicsMode.LEARNED

    def _valid(self, candidates: Grids, wanted: Bools, states: Grids, parents: Ints) -> Ints:
        """Indices of `wanted` grids that differ from their parent; learned ones must be legal."""
        rows = np.flatnonzero(wanted)
        rows = rows[differ(pack(candidates[rows]), pack(states[parents[rows]]))]
        if self.mode is not DynamicsMode.TRUE and self._checks_legality and len(rows):
            rows = rows[self.domain.is_legal(candidates[rows], states[parents[rows]])]
        return self._alive(rows, candidates)

    def _alive(self, rows: Ints, candidates: Grids) -> Ints:
        """The `rows` whose states the domain does not prove dead, if the search prunes."""
        if not self.rules.prune_dead or not len(rows):
            return rows
        return rows[~self.domain.is_dead(candidates[rows])]

    # -- actions -------------------------------------------------------------------------------

    def _actions(self, states: Grids, books: _Books) -> _Edges:
        """Every action that changes the state, with π_BC normalised over them."""
        if self.action_policy is None:
            return _no_edges(states)
        count, num_actions = len(states), self.domain.spec.num_actions
        learned = self.mode is DynamicsMode.LEARNED
        actions = np.arange(count * num_actions) % num_actions
        repeated = np.repeat(states, num_actions, axis=0)
        reached = self._step_function(learned).step(repeated, actions)
        (books.rows if learned else books.environment)[:] += num_actions
        applicable = differ(pack(reached), pack(repeated))
        if learned:
            books.calls += 1
            if self._checks_legality:
                applicable &= self.domain.is_legal(reached, repeated)
        log_probabilities = self._action_log_probabilities(states, books)
        rows = self._alive(np.flatnonzero(applicable), reached)
        parents = rows // num_actions
        return _Edges(
            parents,
            reached[rows],
            normalise(log_probabilities.reshape(-1)[rows], parents, count),
            np.ones(len(rows), dtype=np.int64),
            ~actions[rows].astype(np.int32),
            np.zeros((0, 0), dtype=np.uint16),
        )

    def _action_log_probabilities(self, states: Grids, books: _Books) -> Floats:
        assert self.action_policy is not None
        values = books.action_log_probabilities
        if values is None:
            values = self.action_policy.log_probabilities(states)
            books.network += calls_of(self.action_policy)
        shape = (len(states), self.domain.spec.num_actions)
        return checked_log_probabilities(values, shape, "an action policy")

    # -- both ----------------------------------------------------------------------------------

    def _mix(self, count: int, subgoals: _Edges, actions: _Edges, books: _Books) -> Children:
        """eq:pi. A node without subgoals gives all the mass to its actions, and vice versa."""
        num_subgoals, num_actions = len(subgoals.parents), len(actions.parents)
        tiers = np.zeros(num_subgoals + num_actions, dtype=np.uint8)
        tiers[num_subgoals:] = self.epsilon == TO_ZERO
        exact = np.full(len(tiers), self.mode is not DynamicsMode.LEARNED)
        exact[:num_subgoals] = self.mode is DynamicsMode.TRUE
        if subgoals.exact is not None:
            exact[:num_subgoals] &= subgoals.exact
        shares = self._shares(count, subgoals.parents, actions.parents)
        return Children(
            _joined(subgoals.parents, actions.parents),
            _joined(subgoals.states, actions.states),
            _joined(subgoals.log_probabilities, actions.log_probabilities) + shares,
            _joined(subgoals.lengths, actions.lengths),
            _joined(subgoals.kinds, actions.kinds),
            tiers,
            exact,
            subgoals.actions,
            books.costs,
            books.rejected,
            _padded(subgoals.pending, len(tiers)),
        )

    def _shares(self, count: int, subgoals: Ints, actions: Ints) -> Floats | float:
        """Log of the share (1 - ε or ε) of each child's kind, given the parents of both kinds."""
        if self.epsilon in (TO_ZERO, 1.0) or not len(subgoals) or not len(actions):
            return 0.0
        with_subgoals, with_actions = np.zeros((2, count), dtype=np.bool_)
        with_subgoals[subgoals] = True
        with_actions[actions] = True
        return np.concatenate(
            [
                np.where(with_actions[subgoals], math.log1p(-self.epsilon), 0.0),
                np.where(with_subgoals[actions], math.log(self.epsilon), 0.0),
            ]
        )


def _joined(subgoals: npt.NDArray[T], actions: npt.NDArray[T]) -> npt.NDArray[T]:
    """Concatenates both; copies nothing if one is empty."""
    if not len(subgoals):
        return actions
    return np.concatenate([subgoals, actions]) if len(actions) else subgoals


def _padded(subgoals: Bools | None, count: int) -> Bools | None:
    """The flags of subgoals, followed by False for actions; None stays None."""
    if subgoals is None:
        return None
    found = np.zeros(count, dtype=np.bool_)
    found[: len(subgoals)] = subgoals
    return found


def _no_edges(states: Grids) -> _Edges:
    none = np.zeros(0, dtype=np.int64)
    no_actions = np.zeros((0, 0), dtype=np.uint16)
    return _Edges(none, states[:0], np.zeros(0), none, none.astype(np.int32), no_actions)
