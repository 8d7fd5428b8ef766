"""The contract of a method: a named wiring of parts into a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hips import machine
from hips.domains.base import Domain
from hips.errors import ConfigError
from hips.models.card import Card
from hips.models.runtime import GraphRuntime
from hips.planner import settings as knobs
from hips.planner.components import Components
from hips.planner.options import DEFAULT_BATCH
from hips.planner.settings import Settings, Value
from hips.planner.solvers import Solver


@dataclass(frozen=True, slots=True)
class Execution:
    """Where and how a method runs; does not affect the plans found.

    Attributes:
        batch: levels in lockstep.
        threads: threads that share the rows of a network; None for all cores (one in a worker).
        device: None runs the networks in ONNX Runtime; `cpu`, `cuda` … or `auto` in torch there.
    """

    batch: int = DEFAULT_BATCH
    threads: int | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ConfigError(f"A batch of {self.batch} searches is invalid; give 1 or more.")

    @property
    def num_threads(self) -> int:
        """Threads that share the rows of a network."""
        return self.threads or machine.cores()

    def describe(self) -> dict[str, Any]:
        """The machine, as recorded in results."""
        return {
            "processor": machine.processor(),
            "threads": self.num_threads,
            "device": self.device or "cpu",
        }


@dataclass(frozen=True, slots=True)
class Wiring:
    """The inputs to build a method from.

    Attributes:
        domain: the domain at the size of the levels.
        settings: the complete settings.
        runtime: the graphs of the model; None without a model.
        execution: where and how it runs.
        own: the user's components, which replace the model's.
    """

    domain: Domain
    settings: Settings
    runtime: GraphRuntime | None
    execution: Execution
    own: Components = field(default_factory=Components)


Build: TypeAlias = Callable[[Wiring], Solver]
Obstacle: TypeAlias = Callable[[Domain], str]


def no_obstacle(domain: Domain) -> str:
    """The obstacle of methods that run everywhere: none."""
    return ""


@dataclass(frozen=True, slots=True)
class Method:
    """A named way to solve levels.

    Attributes:
        name: name on the command line and in results.
        label: name in reports.
        about: one sentence of description.
        build: wires parts into a solver.
        parts: required parts.
        settings: names of its settings.
        defaults: its own default settings.
        obstacle: why it cannot run on a domain, apart from its model; empty if it can.
        exchangeable: groups of its parts that another model's can replace, together each.
        has_heuristic: whether it brings a heuristic that needs no model.
        contrast: name of the method without what this one adds, to compare it with; may be empty.
        complete: whether it finds a plan if there is one, and else proves that there is none,
            given true dynamics and no limits.
    """

    name: str
    label: str
    about: str
    build: Build
    parts: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    defaults: Mapping[str, Value] = field(default_factory=dict)
    obstacle: Obstacle = no_obstacle
    exchangeable: tuple[tuple[str, ...], ...] = ()
    has_heuristic: bool = False
    contrast: str = ""
    complete: bool = True

    @property
    def description(self) -> str:
        """What it does, and whether it is complete."""
        return f"{self.about}; {'complete' if self.complete else 'not complete'}"

    def lacking(self, wanted: Settings) -> list[str]:
        """The wanted settings that the method does not have."""
        return [name for name in wanted.given() if name not in self.settings]

    def resolve(
        self, domain: Domain, wanted: Settings, named: str | None, card: Card | None
    ) -> Settings:
        """Complete settings, by precedence: `wanted`, a named set, the method, the model, defaults.

        Raises:
            ConfigError: `wanted` has a setting that the method does not have.
        """
        if unknown := self.lacking(wanted):
            available = ", ".join(self.settings) or "none"
            raise ConfigError(
                f"Method '{self.name}' has no setting '{unknown[0]}'. It has: {available}."
            )
        layers: list[Mapping[str, Any]] = []
        if named is not None:
            layers.append(knobs.named_set(named, domain.preset))
        layers.append(self.defaults)
        if card is not None:
            layers += [card.settings, {"horizon": card.horizon}]
        layers += [{"horizon": domain.preset.horizon}, knobs.defaults()]
        return wanted.completed(*layers).only(self.settings)

    def spell(self, settings: Settings) -> str:
        """Method and settings as text; equal texts mean equal searches."""
        return f"{self.name} {knobs.spell(settings.given())}".strip()
