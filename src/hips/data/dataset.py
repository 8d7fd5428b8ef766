"""Demonstrations in memory: start states and action lists; replay gives the states."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from hips.arrays import Actions, Bools, Grid, Grids
from hips.domains.base import Domain, replay
from hips.errors import ConfigError, ContractError, DatasetError

Split: TypeAlias = Literal["train", "validation", "all"]
Offsets: TypeAlias = npt.NDArray[np.int64]
ActionCodes: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

VALIDATION_FRACTION = 0.05
NO_ACTION = -1


@dataclass(frozen=True, slots=True)
class Trajectories:
    """All states of a set of demonstrations, concatenated.

    Attributes:
        states: `uint8 [S, H, W]`, where S is the sum of (steps + 1) over the trajectories.
        actions: `int64 [S]`, the action taken in each state; -1 in a trajectory's last state.
        offsets: `int64 [N + 1]`; trajectory i has the states `offsets[i]:offsets[i + 1]`.
    """

    states: Grids
    actions: Actions
    offsets: Offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def owners(self) -> Offsets:
        """The trajectory of each state, `[S]`."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def remaining(self) -> Offsets:
        """Steps from each state to the end of its trajectory, `[S]`."""
        ends: Offsets = np.repeat(self.offsets[1:], np.diff(self.offsets))
        return ends - 1 - np.arange(len(self.states))


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Goal-reaching plans in one domain.

    Attributes:
        domain: the domain of the plans.
        starts: start states, `uint8 [N, H, W]`.
        actions: the actions of all plans, concatenated, `[sum of steps]`.
        offsets: `int64 [N + 1]`; plan i is `actions[offsets[i]:offsets[i + 1]]`.
        validation: which plans are held out for validation, `bool [N]`.
        manifest: origin of the plans: seed, quality, counts.
    """

    domain: Domain
    starts: Grids
    actions: ActionCodes
    offsets: Offsets
    validation: Bools
    manifest: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_plans(
        cls, domain: Domain, levels: Sequence[Grid | str], plans: Sequence[Sequence[str] | Actions]
    ) -> Self:
        """Demonstrations of your own: levels of one size, each with a plan that reaches a goal.

        Args:
            domain: the domain, at any size.
            levels: start states, as grids or text.
            plans: actions by name or index; what follows the first goal is cut off.

        Raises:
            DatasetError: names the first plan that has an unknown action or reaches no goal, or the
                first level that is already solved or of another size.
        """
        if not levels or len(levels) != len(plans):
            raise DatasetError(
                f"{len(levels)} levels and {len(plans)} plans; each level needs a plan, and at "
                "least one is needed."
            )
        grids = [_grid(domain, one) for one in levels]
        own = domain.for_grid(grids[0])
        actions = [_indices(own, plan) for plan in plans]
        for index, (grid, plan) in enumerate(zip(grids, actions, strict=True)):
            if fault := plan_fault(own, grid, plan):
                raise DatasetError(f"demonstration {index}: {fault}.")
        cut = cut_at_goal(own, grids, actions)
        offsets = to_offsets(np.array([len(plan) for plan in cut], dtype=np.int64))
        codes = encode_actions(np.concatenate(cut), own.spec.num_actions)
        starts = np.stack(grids)
        return cls(own, starts, codes, offsets, validation_split(starts), {"source": "plans"})

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Offsets:
        """Steps of each plan, `[N]`."""
        return np.diff(self.offsets)

    def plan(self, index: int) -> Actions:
        """The actions of one plan."""
        chosen = self.actions[self.offsets[index] : self.offsets[index + 1]]
        return chosen.astype(np.int64)

    def select(self, indices: npt.NDArray[np.integer[Any]]) -> Demonstrations:
        """The demonstrations at `indices`, in that order."""
        lengths = self.lengths[indices]
        offsets = to_offsets(lengths)
        positions = np.arange(offsets[-1]) + np.repeat(
            self.offsets[indices] - offsets[:-1], lengths
        )
        return replace(
            self,
            starts=self.starts[indices],
            actions=self.actions[positions],
            offsets=offsets,
            validation=self.validation[indices],
        )

    def split(self, name: Split) -> Demonstrations:
        """The split `name`: `train`, `validation` or `all`."""
        if name not in get_args(Split):
            raise ConfigError(f"Unknown split '{name}'. Available: {', '.join(get_args(Split))}.")
        if name == "all":
            return self
        return self.select(np.flatnonzero(self.validation == (name == "validation")))

    def replay(self) -> Trajectories:
        """All states, by replaying every plan in the domain."""
        return replay_plans(self.domain, self.starts, self.actions, self.offsets)

    def trajectories(self, split: Split = "all") -> Trajectories:
        """All states of one split."""
        return self.split(split).replay()


def concatenate(parts: Sequence[Demonstrations]) -> Demonstrations:
    """Joins datasets of one domain; keeps the manifests of the parts."""
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts[1:]:
        if (part.domain.name, part.domain.spec) != (first.domain.name, first.domain.spec):
            raise DatasetError(
                f"Cannot join demonstrations of '{part.domain.name}' {part.domain.spec.shape} "
                f"with those of '{first.domain.name}' {first.domain.spec.shape}."
            )
    return Demonstrations(
        domain=first.domain,
        starts=np.concatenate([part.starts for part in parts]),
        actions=np.concatenate([part.actions for part in parts]),
        offsets=to_offsets(np.concatenate([part.lengths for part in parts])),
        validation=np.concatenate([part.validation for part in parts]),
        manifest={"parts": [part.manifest for part in parts]},
    )


def to_offsets(lengths: npt.NDArray[np.integer[Any]]) -> Offsets:
    """Start of each part of the given lengths, and the end of the last: `[N + 1]`."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def encode_actions(actions: npt.NDArray[np.integer[Any]], num_actions: int) -> ActionCodes:
    """The actions in the smallest integer type that fits the domain's actions."""
    return actions.astype(np.uint8) if num_actions <= 256 else actions.astype(np.uint16)


def replay_plans(
    domain: Domain, starts: Grids, actions: ActionCodes, offsets: Offsets
) -> Trajectories:
    """Steps all plans in lockstep, longest first, so that the running ones stay a prefix."""
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    state_offsets = offsets + np.arange(len(offsets))
    states = np.empty((int(state_offsets[-1]), *starts.shape[1:]), dtype=np.uint8)
    taken = np.full(len(states), NO_ACTION, dtype=np.int64)
    taken[np.arange(len(actions)) + np.repeat(np.arange(len(starts)), lengths)] = actions
    current, rows = starts[order], state_offsets[:-1][order]
    running = np.searchsorted(-lengths[order], -np.arange(lengths.max(initial=0)), side="left")
    states[rows] = current
    for count in running:
        rows = rows[:count]
        current = domain.step(current[:count], taken[rows])
        rows = rows + 1
        states[rows] = current
    return Trajectories(states=states, actions=taken, offsets=state_offsets)


def _grid(domain: Domain, level: Grid | str) -> Grid:
    """A level as a grid; cells that no byte holds become 255, which no domain has."""
    if isinstance(level, str):
        return domain.parse(level)
    cells = np.asarray(level)
    return np.where((cells >= 0) & (cells < 255), cells, 255).astype(np.uint8)


def _indices(domain: Domain, plan: Sequence[str] | Actions) -> Actions:
    """A plan as action indices; unknown names become -1."""
    index = {name: i for i, name in enumerate(domain.spec.actions)}
    steps = [index.get(step, -1) if isinstance(step, str) else int(step) for step in plan]
    return np.array(steps, dtype=np.int64)


def plan_fault(domain: Domain, start: Grid, plan: Actions) -> str:
    """Why a level and a plan are no demonstration; empty if they are one."""
    if start.shape != domain.spec.shape:
        rows, columns = domain.spec.shape
        return f"the level has shape {start.shape}; all must have {rows} rows and {columns} columns"
    if int(start.max()) >= domain.spec.num_symbols:
        return f"cells must be 0 to {domain.spec.num_symbols - 1}"
    if fault := domain.fault(start):
        return fault
    unknown = np.flatnonzero((plan < 0) | (plan >= domain.spec.num_actions))
    if len(unknown):
        return f"action {unknown[0]} is unknown; allowed: {', '.join(domain.spec.actions)}"
    goals = domain.is_goal(replay(domain, start, plan))
    if goals[0]:
        return "the level is already solved"
    return "" if goals.any() else f"the plan of {len(plan)} actions does not reach a goal"


def first_goals(
    domain: Domain, starts: Grids, actions: ActionCodes, offsets: Offsets
) -> npt.NDArray[np.int64]:
    """Steps of each plan until the first goal, `[N]`; -1 if it reaches none."""
    trajectories = replay_plans(domain, starts, actions, offsets)
    goals = domain.is_goal(trajectories.states)
    found = np.full(len(starts), -1, dtype=np.int64)
    for i in range(len(starts)):
        reached = np.flatnonzero(goals[trajectories.offsets[i] : trajectories.offsets[i + 1]])
        if len(reached):
            found[i] = reached[0]
    return found


def cut_at_goal(domain: Domain, starts: Sequence[Grid], plans: Sequence[Actions]) -> list[Actions]:
    """Cuts plans at the first goal they reach.

    Raises:
        ContractError: a plan uses an unknown action or reaches no goal.
    """
    if not plans:
        return []
    offsets = to_offsets(np.array([len(plan) for plan in plans]))
    flat = np.concatenate(plans)
    if len(flat) and not 0 <= flat.min() <= flat.max() < domain.spec.num_actions:
        raise ContractError(f"a plan for '{domain.name}' uses an unknown action.")
    codes = encode_actions(flat, domain.spec.num_actions)
    reached = first_goals(domain, np.stack(starts), codes, offsets)
    if (reached < 0).any():
        level = domain.text(starts[int((reached < 0).argmax())])
        raise ContractError(f"a plan for '{domain.name}' does not reach a goal:\n{level}")
    return [plan[:steps] for plan, steps in zip(plans, reached, strict=True)]


def level_digest(start: Grid) -> float:
    """A number in [0, 1) that depends only on the level."""
    digest = hashlib.blake2b(np.ascontiguousarray(start).tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2.0**64


def validation_split(starts: Grids) -> Bools:
    """Which levels are held out for validation, `[N]`: about one in twenty.

    The choice depends only on the level, so no level is for training in one dataset and for
    validation in another. If it selects none of several levels, it takes the smallest digest.
    """
    digests = np.array([level_digest(start) for start in starts])
    chosen: Bools = digests < VALIDATION_FRACTION
    if len(digests) and not chosen.any() and digests.min() < digests.max():
        chosen = digests == digests.min()
    return chosen
