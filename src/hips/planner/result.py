"""What a search reports; every record turns into JSON and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from hips.errors import HipsError
from hips.planner.outcomes import Outcome

PROFILE_EDGES = tuple(sorted({int(2 ** (power / 2)) for power in range(48)}))
"""1, 2, 4, 5, 8 … : bins of expansion numbers that widen as a search goes on."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One edge of the solution path.

    Attributes:
        kind: `"subgoal"` or `"action"`; `"improved"` for a stretch rewritten after the search.
        label: the subgoal's code, or the action's name.
        steps: low-level actions on the edge.
    """

    kind: str
    label: str
    steps: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and times of one search.

    Attributes:
        expansions: expanded nodes N, the root included.
        subgoal_expansions: those of them that a subgoal reached.
        action_expansions: those of them that a low-level action reached.
        generated: children made, known states included.
        network_calls: rows that went through a network.
        model_calls: steps simulated by a learned model.
        environment_steps: steps taken in the true domain.
        replans: found plans that failed in the true domain.
        clamped: heuristic values that were not finite and non-negative.
        seconds: wall-clock time from the start of this search to its end.
        phases: seconds by phase; a round shared by many searches is divided among them.
        peak_bytes: memory of the search's nodes.
        action_profile: `action_expansions` by when they happened: one number for each bin of
            expansion numbers, whose lower ends are `PROFILE_EDGES`.
    """

    expansions: int = 0
    subgoal_expansions: int = 0
    action_expansions: int = 0
    generated: int = 0
    network_calls: int = 0
    model_calls: int = 0
    environment_steps: int = 0
    replans: int = 0
    clamped: int = 0
    seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    action_profile: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The end of one search.

    >>> result = Result(Outcome.SOLVED, ("up", "left"))
    >>> result.length, Result.from_json(result.to_json()) == result
    (2, True)

    Attributes:
        outcome: how it ended.
        plan: names of the low-level actions, empty unless solved (or solved at the start).
        segments: the solution path edge by edge; their steps add up to the plan's length.
        statistics: what it cost.
        seed: the seed that the instance or the search drew from, if any.
        message: why the input was refused, otherwise empty.
    """

    outcome: Outcome
    plan: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    statistics: Statistics = Statistics()
    seed: int | None = None
    message: str = ""

    @property
    def solved(self) -> bool:
        """Whether there is a plan."""
        return self.outcome is Outcome.SOLVED

    @property
    def length(self) -> int | None:
        """Low-level actions of the plan; None without a plan."""
        return len(self.plan) if self.solved else None

    def to_json(self) -> dict[str, Any]:
        """One flat JSON object; `from_json` is its inverse."""
        statistics = dataclasses.asdict(self.statistics)
        statistics["phases"] = dict(self.statistics.phases)
        statistics["action_profile"] = list(self.statistics.action_profile)
        return {
            "outcome": self.outcome.value,
            "plan": list(self.plan),
            "length": self.length,
            "segments": [dataclasses.asdict(segment) for segment in self.segments],
            **statistics,
            "seed": self.seed,
            "message": self.message,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The result that `to_json` wrote; keys it does not know are ignored."""
        try:
            names = [item.name for item in dataclasses.fields(Statistics)]
            statistics = {name: content[name] for name in names}
            statistics["action_profile"] = tuple(statistics["action_profile"])
            return cls(
                outcome=Outcome(content["outcome"]),
                plan=tuple(content["plan"]),
                segments=tuple(Segment(**segment) for segment in content["segments"]),
                statistics=Statistics(**statistics),
                seed=content["seed"],
                message=content["message"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise HipsError(f"This JSON object is not a search result ({error!r}).") from None
