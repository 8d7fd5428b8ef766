"""Results of a search; every record converts to JSON and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Self

import numpy as np

from hips.arrays import Grid, Grids
from hips.domains.base import Domain, replay
from hips.errors import ConfigError, HipsError
from hips.planner.outcomes import Outcome

PROFILE_EDGES = tuple(sorted({int(2 ** (power / 2)) for power in range(48)}))
"""1, 2, 4, 5, 8 …: bins of expansion numbers that widen as a search progresses."""


LATER = ("reach_rows", "proposals_pending", "late_rollouts", "late_unreached")
"""Fields that results of older versions do not have."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One edge of the solution path.

    Attributes:
        kind: `"subgoal"` or `"action"`; `"improved"` for a segment rewritten after the search.
        label: the subgoal's code, or the action's name.
        steps: low-level actions on the edge.
    """

    kind: str
    label: str
    steps: int


@dataclass(frozen=True, slots=True)
class FoundPlan:
    """When a plan was found, and how long it is.

    Attributes:
        seconds: own time since the start of the search.
        length: low-level actions.
    """

    seconds: float
    length: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and times of one search.

    Attributes:
        expansions: expanded nodes N, including the root.
        subgoal_expansions: expanded nodes reached by a subgoal.
        action_expansions: expanded nodes reached by a low-level action.
        generated: generated children, including known states.
        network_rows: rows passed through a network.
        reach_rows: of them, rows of reach policies and verifiers.
        dynamics_rows: steps simulated by learned dynamics.
        dynamics_calls: the same, counting a batched step once, as in the published code.
        environment_steps: steps taken in the true domain.
        replans: plans found that failed in the true domain.
        clamped: heuristic values that were not finite and non-negative.
        proposals_kept: proposed subgoals that became children.
        proposals_illegal: proposals that are not legal states of the problem.
        proposals_repeated: proposals equal to the state or to another proposal.
        proposals_unreached: proposals that the reach policy did not reach.
        proposals_pending: proposals whose rollouts were left for later.
        late_rollouts: of them, those that were rolled out.
        late_unreached: of those, the ones that were not reached.
        seconds: the search's own time; shared rounds are divided evenly.
        elapsed_seconds: wall-clock time from the start of this search to its end.
        phases: `seconds` by phase.
        peak_bytes: memory of the search's nodes.
        action_profile: `action_expansions` over the search: one count per bin of expansion
            numbers; `PROFILE_EDGES` are the lower ends of the bins.
    """

    expansions: int = 0
    subgoal_expansions: int = 0
    action_expansions: int = 0
    generated: int = 0
    network_rows: int = 0
    reach_rows: int = 0
    dynamics_rows: int = 0
    dynamics_calls: int = 0
    environment_steps: int = 0
    replans: int = 0
    clamped: int = 0
    proposals_kept: int = 0
    proposals_illegal: int = 0
    proposals_repeated: int = 0
    proposals_unreached: int = 0
    proposals_pending: int = 0
    late_rollouts: int = 0
    late_unreached: int = 0
    seconds: float = 0.0
    elapsed_seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    action_profile: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a result.

    Attributes:
        method: name of the method that ran.
        settings: its resolved settings.
        model: fingerprint of the model, or None without one.
        machine: processor, cores, threads and device.
        note: a remark for the reader, e.g. that the model does not fit the level.
    """

    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one search.

    >>> result = Result(Outcome.SOLVED, ("up", "left"))
    >>> result.length, Result.from_json(result.to_json()) == result
    (2, True)

    Attributes:
        outcome: how it ended.
        plan: names of the low-level actions, empty unless solved (or solved at the start).
        segments: the solution path edge by edge; their steps add up to the plan's length.
        statistics: what it cost.
        history: the plans found one after the other, if the first one was to be improved.
        seed: the seed that the instance or the search drew from, if any.
        message: why the input was rejected or is unsolvable without a search, otherwise empty.
        provenance: where the result comes from.
        start: the level `[H, W]`, where it is known; not part of the JSON.
        domain: the domain at the level's size, where it is known; not part of the JSON.
    """

    outcome: Outcome
    plan: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    statistics: Statistics = Statistics()
    history: tuple[FoundPlan, ...] = ()
    seed: int | None = None
    message: str = ""
    provenance: Provenance = Provenance()
    start: Grid | None = field(default=None, compare=False, repr=False)
    domain: Domain | None = field(default=None, compare=False, repr=False)

    @property
    def solved(self) -> bool:
        """Whether there is a plan."""
        return self.outcome is Outcome.SOLVED

    @property
    def length(self) -> int | None:
        """Low-level actions of the plan; None without a plan."""
        return len(self.plan) if self.solved else None

    @property
    def subgoal_steps(self) -> tuple[int, ...]:
        """Numbers of low-level steps after which the plan reaches a subgoal.

        >>> path = (Segment("subgoal", "7", 3), Segment("action", "up", 1))
        >>> Result(Outcome.SOLVED, ("up",) * 4, path).subgoal_steps
        (3,)
        """
        ends = accumulate(segment.steps for segment in self.segments)
        pairs = zip(ends, self.segments, strict=True)
        return tuple(end for end, segment in pairs if segment.kind == "subgoal")

    @property
    def states(self) -> Grids:
        """Every state of the plan, `[length + 1, H, W]`; only the start without a plan.

        Raises:
            ConfigError: the result was read from a file, which does not store the level.
        """
        if self.start is None or self.domain is None:
            raise ConfigError("This result does not include its level; replay its plan instead.")
        actions = self.domain.spec.action_indices(self.plan)
        return replay(self.domain, np.asarray(self.start), actions)

    def to_json(self) -> dict[str, Any]:
        """One flat JSON object; `from_json` is its inverse."""
        statistics = _shallow(self.statistics)
        statistics["phases"] = dict(self.statistics.phases)
        statistics["action_profile"] = list(self.statistics.action_profile)
        return {
            "outcome": self.outcome.value,
            "plan": list(self.plan),
            "length": self.length,
            "segments": [_shallow(segment) for segment in self.segments],
            "history": [_shallow(found) for found in self.history],
            **statistics,
            "seed": self.seed,
            "message": self.message,
            **_shallow(self.provenance),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The result that `to_json` wrote; unknown keys are ignored."""
        try:
            statistics = _fields(Statistics, content)
            statistics["action_profile"] = tuple(statistics["action_profile"])
            return cls(
                outcome=Outcome(content["outcome"]),
                plan=tuple(content["plan"]),
                segments=tuple(Segment(**segment) for segment in content["segments"]),
                statistics=Statistics(**statistics),
                history=tuple(FoundPlan(**found) for found in content.get("history", ())),
                seed=content["seed"],
                message=content["message"],
                provenance=Provenance(**_fields(Provenance, content)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise HipsError(f"This JSON object is not a search result ({error!r}).") from None


def _shallow(record: Segment | FoundPlan | Statistics | Provenance) -> dict[str, Any]:
    """The fields of a record; unlike `dataclasses.asdict`, their values are not copied."""
    return {name: getattr(record, name) for name in record.__slots__}


def _fields(record: type[Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a record's fields; results of older versions lack `LATER`."""
    names = [item.name for item in dataclasses.fields(record)]
    return {name: content[name] for name in names if name in content or name not in LATER}
