"""Children of a node: subgoals for speed, low-level actions for completeness (eq:pi)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hips.domains.base import CONFIDENCE, Bools, Domain, Grids
from hips.errors import ConfigError, ContractError
from hips.planner import rollouts
from hips.planner.protocols import (
    ActionPolicy,
    Children,
    Dynamics,
    DynamicsMode,
    Floats,
    Heuristic,
    Ints,
    Proposals,
    ReachPolicy,
    SubgoalGenerator,
    checked_log_probabilities,
)
from hips.planner.rows import as_rows, merge_equal, rows_differ
from hips.planner.stopwatch import Stopwatch

T = TypeVar("T", bound=np.generic)

TO_ZERO = 0.0
"""The value of ε that stands for the limit ε → 0."""


def parse_epsilon(text: str) -> float:
    """ε from text: a number in (0, 1], or `0+` (also `->0`, `→0`) for the limit.

    >>> parse_epsilon("1e-3"), parse_epsilon("0+")
    (0.001, 0.0)
    """
    if text in {"0+", "->0", "→0"}:
        return TO_ZERO
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value <= 1.0:
        raise ConfigError(f"ε '{text}' is not in (0, 1]; write 0+ for the limit ε→0.")
    return value


@dataclass(frozen=True, slots=True)
class _Edges:
    """Children of one sort before mixing; fields as in `Children`."""

    parents: Ints
    states: Grids
    log_probabilities: Floats
    lengths: Ints
    kinds: npt.NDArray[np.int32]
    actions: npt.NDArray[np.uint8]


@dataclass(slots=True)
class _Costs:
    """Counts per parent, `[B]`, and where the time went."""

    environment_steps: Ints
    model_calls: Ints
    network_calls: Ints
    watch: Stopwatch


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The union of a generator's subgoals and the low-level actions, mixed by ε (eq:pi).

    Attributes:
        domain: the true domain.
        generator: proposes subgoals; None for low-level search.
        low_level: π_BC over actions; None leaves actions out: plain HIPS, not complete.
        epsilon: ε in (0, 1], or 0 for the limit ε → 0, in which nodes that subgoals reached always
            come first and π_SG and π_BC are not mixed.
        reach: policy that fills in the actions to a subgoal, if the generator proposes states.
        heuristic: h, or None for h = 0.
        mode: who simulates what.
        model: learned dynamics, for modes other than `TRUE`.
        horizon: most low-level steps to a subgoal; None takes the domain's preset.
        confidence: least probability of a foreseen action that is executed without asking again.
        hope: least probability of getting to a subgoal with which its rollout goes on.
    """

    domain: Domain
    generator: SubgoalGenerator | None = None
    low_level: ActionPolicy | None = None
    epsilon: float = 1e-3
    reach: ReachPolicy | None = None
    heuristic: Heuristic | None = None
    mode: DynamicsMode = DynamicsMode.TRUE
    model: Dynamics | None = None
    horizon: int | None = None
    confidence: float = CONFIDENCE
    hope: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"ε = {self.epsilon} is not in (0, 1]; 0 means the limit ε→0.")
        if self.generator is None and self.low_level is None:
            raise ConfigError("A search needs a subgoal generator, low-level actions, or both.")
        if self.generator is None and self.epsilon < 1.0:
            object.__setattr__(self, "epsilon", 1.0)
        if self.mode is not DynamicsMode.TRUE and self.model is None:
            raise ConfigError(f"Dynamics '{self.mode.value}' needs a learned model; there is none.")
        if not 0.0 < self.confidence <= 1.0:
            raise ConfigError(f"A confidence of {self.confidence} is not in (0, 1].")
        if not 0.0 <= self.hope < 1.0:
            raise ConfigError(f"A hope of {self.hope} is not in [0, 1).")
        if self.horizon is not None and self.horizon < 1:
            raise ConfigError(f"A horizon of {self.horizon} steps is impossible; give 1 or more.")

    @property
    def complete(self) -> bool:
        """Whether every applicable action is a child, made by the true domain."""
        return self.low_level is not None and self.mode is not DynamicsMode.LEARNED

    def expand(self, states: Grids) -> Children:
        """Children of `states [B, H, W]`; each parent's probabilities sum to 1 (ε > 0)."""
        environment, model, network = np.zeros((3, len(states)), dtype=np.int64)
        costs = _Costs(environment, model, network, Stopwatch())
        subgoals = self._subgoals(states, costs)
        actions = self._actions(states, costs)
        costs.watch.lap("actions")
        return self._mix(len(states), subgoals, actions, costs)

    # -- subgoals ------------------------------------------------------------------------------

    def _subgoals(self, states: Grids, costs: _Costs) -> _Edges:
        """Distinct subgoals that were reached, with π_SG normalised over them."""
        if self.generator is None or (self.epsilon == 1.0 and self.low_level is not None):
            return _no_edges(states)
        proposals = self.generator.propose(states)
        costs.watch.lap("proposals")
        proposals.check(states, self.domain.spec.num_actions)
        costs.network_calls += proposals.calls
        proposals = usable_targets(self.domain, states, _sorted_by_parent(proposals))
        parents = proposals.parents
        costs.watch.lap("filter")
        ends = self._reach(states, proposals, costs)
        costs.watch.lap("rollouts")
        kept = self._valid(ends.states, ends.success, states, parents)
        kept, log_probabilities = _merge_equal(
            kept, parents, ends.states, ends.lengths, proposals.log_probabilities
        )
        return _Edges(
            parents[kept],
            ends.states[kept],
            _normalise(log_probabilities, parents[kept], len(states)),
            ends.lengths[kept],
            proposals.codes[kept].astype(np.int32),
            ends.actions[kept],
        )

    def _reach(self, states: Grids, proposals: Proposals, costs: _Costs) -> rollouts.Rollouts:
        """Rolls out to every target, or executes every action list."""
        in_model = self.mode is not DynamicsMode.TRUE
        step = self.model.step if in_model and self.model is not None else self.domain.step
        is_goal, parents = self.domain.is_goal, proposals.parents
        if proposals.actions is not None:
            ends = rollouts.execute(step, is_goal, states[parents], proposals.actions)
        elif self.reach is None or proposals.targets is None:
            raise ContractError("a generator that proposes states needs a policy to reach them")
        else:
            horizon = self.horizon or self.domain.preset.horizon
            starts, targets = states[parents], proposals.targets
            ends = rollouts.follow(
                step, is_goal, self.reach, starts, targets, horizon, self.confidence, self.hope
            )
            np.add.at(costs.network_calls, parents, ends.policy_calls * self.reach.calls)
        np.add.at(
            costs.model_calls if in_model else costs.environment_steps, parents, ends.simulated
        )
        return ends

    def _valid(self, candidates: Grids, wanted: Bools, states: Grids, parents: Ints) -> Ints:
        """Indices of wanted grids that differ from the parent; a model's must also be legal."""
        rows = np.flatnonzero(wanted)
        rows = rows[rows_differ(as_rows(candidates[rows]), as_rows(states[parents[rows]]))]
        if self.mode is DynamicsMode.TRUE or not len(rows):
            return rows
        return rows[self.domain.is_legal(candidates[rows], states[parents[rows]])]

    # -- actions -------------------------------------------------------------------------------

    def _actions(self, states: Grids, costs: _Costs) -> _Edges:
        """Every action that changes the state, with π_BC normalised over them."""
        if self.low_level is None:
            return _no_edges(states)
        count, num_actions = len(states), self.domain.spec.num_actions
        in_model = self.mode is DynamicsMode.LEARNED
        step = self.model.step if in_model and self.model is not None else self.domain.step
        actions = np.arange(count * num_actions) % num_actions
        repeated = np.repeat(states, num_actions, axis=0)
        reached = step(repeated, actions)
        (costs.model_calls if in_model else costs.environment_steps)[:] += num_actions
        applicable = rows_differ(as_rows(reached), as_rows(repeated))
        if in_model:
            applicable &= self.domain.is_legal(reached, repeated)
        log_probabilities = checked_log_probabilities(
            self.low_level.log_probabilities(states), (count, num_actions), "an action policy"
        )
        costs.network_calls += self.low_level.calls
        rows = np.flatnonzero(applicable)
        parents = rows // num_actions
        return _Edges(
            parents,
            reached[rows],
            _normalise(log_probabilities.reshape(-1)[rows], parents, count),
            np.ones(len(rows), dtype=np.int64),
            ~actions[rows].astype(np.int32),
            np.zeros((0, 0), dtype=np.uint8),
        )

    # -- both ----------------------------------------------------------------------------------

    def _mix(self, count: int, subgoals: _Edges, actions: _Edges, costs: _Costs) -> Children:
        """eq:pi. A node without subgoals gives all the mass to its actions, and vice versa."""
        num_subgoals, num_actions = len(subgoals.parents), len(actions.parents)
        tiers = np.zeros(num_subgoals + num_actions, dtype=np.uint8)
        tiers[num_subgoals:] = self.epsilon == TO_ZERO
        exact = np.full(len(tiers), self.mode is not DynamicsMode.LEARNED)
        exact[:num_subgoals] = self.mode is DynamicsMode.TRUE
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
            costs.environment_steps,
            costs.model_calls,
            costs.network_calls,
            costs.watch.seconds,
        )

    def _shares(self, count: int, subgoals: Ints, actions: Ints) -> Floats | float:
        """Log of the share 1 - ε or ε of each child's sort, given the parents of both sorts."""
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
    """Both one after the other, copying nothing if there is only one sort."""
    if not len(subgoals):
        return actions
    return np.concatenate([subgoals, actions]) if len(actions) else subgoals


def _no_edges(states: Grids) -> _Edges:
    none = np.zeros(0, dtype=np.int64)
    no_actions = np.zeros((0, 0), dtype=np.uint8)
    return _Edges(none, states[:0], np.zeros(0), none, none.astype(np.int32), no_actions)


def usable_targets(domain: Domain, states: Grids, proposals: Proposals) -> Proposals:
    """Drops illegal targets, the states themselves, and repetitions, before any rollout."""
    if proposals.targets is None:
        return proposals
    targets, parents = proposals.targets, proposals.parents
    rows = np.flatnonzero(rows_differ(as_rows(targets), as_rows(states[parents])))
    if len(rows):
        rows = rows[domain.is_legal(targets[rows], states[parents[rows]])]
    no_lengths = np.zeros(len(targets), dtype=np.int64)
    rows, log_probabilities = _merge_equal(
        rows, parents, targets, no_lengths, proposals.log_probabilities
    )
    return Proposals(parents[rows], proposals.codes[rows], log_probabilities, targets[rows])


def _sorted_by_parent(proposals: Proposals) -> Proposals:
    """The same proposals, those of a parent together and in their order."""
    order = np.argsort(proposals.parents, kind="stable")
    log_probabilities = checked_log_probabilities(
        proposals.log_probabilities, (len(order),), "a generator's log_probabilities"
    )
    return Proposals(
        proposals.parents[order],
        proposals.codes[order],
        log_probabilities[order],
        None if proposals.targets is None else proposals.targets[order],
        None if proposals.actions is None else proposals.actions[order],
    )


def _merge_equal(
    rows: Ints, parents: Ints, states: Grids, lengths: Ints, log_probabilities: Floats
) -> tuple[Ints, Floats]:
    """Of `rows` with the same parent and state keeps the shortest (then first) one.

    Returns the kept rows, in order, and their log-probabilities, those of their equals added.
    """
    kept, merged = merge_equal(
        parents[rows], as_rows(states[rows]), lengths[rows], log_probabilities[rows]
    )
    return rows[kept], merged


def _normalise(log_probabilities: Floats, parents: Ints, count: int) -> Floats:
    """Makes each parent's probabilities sum to 1."""
    best = np.full(count, -np.inf)
    np.maximum.at(best, parents, log_probabilities)
    shifted = log_probabilities - best[parents]
    totals = np.bincount(parents, weights=np.exp(shifted), minlength=count)
    normalised: Floats = shifted - np.log(totals[parents])
    return normalised
