"""The domain contract: every state is a small grid of symbols, every rule is a pure function.

A domain is the only thing the rest of the package knows about a problem. Grids are handled in
batches `[B, H, W]`; `step` is *pure* (its input is never modified) and *total* (an action that
cannot be taken leaves the state unchanged).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hips.arrays import Actions, Bools, Floats, Grid, Grids, Image, Scores
from hips.domains import defaults
from hips.domains.records import Example, Level, Macros
from hips.errors import ConfigError, LevelError
from hips.files import text_lines

QUALITIES: Mapping[str, float] = {"paper": 0.0, "mixed": 0.5, "good": 0.8, "best": 1.0}
"""Named demonstration qualities, from wandering to near-optimal."""


@dataclass(frozen=True, slots=True)
class GridSpec:
    """The shape of a domain's states and the names of its symbols and actions.

    Attributes:
        height: rows of a grid.
        width: columns of a grid.
        symbols: names of the cell values `0 … len(symbols) - 1`.
        actions: names of the actions; plans are exchanged by these names.
        border: number of outer rings whose cells are always symbol 0; networks crop them.
        anchors: symbols of which every state has exactly one, such as the agent's. Networks
            then see the grid centred on it. Cannot be combined with a border.
    """

    height: int
    width: int
    symbols: tuple[str, ...]
    actions: tuple[str, ...]
    border: int = 0
    anchors: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """`(height, width)`."""
        return self.height, self.width

    @property
    def num_symbols(self) -> int:
        """Size of the alphabet."""
        return len(self.symbols)

    @property
    def num_actions(self) -> int:
        """Number of actions."""
        return len(self.actions)

    def action_indices(self, names: Sequence[str]) -> Actions:
        """Indices of named actions."""
        index = {name: i for i, name in enumerate(self.actions)}
        unknown = [name for name in names if name not in index]
        if unknown:
            raise ConfigError(
                f"Unknown action '{unknown[0]}'. Available: {', '.join(self.actions)}."
            )
        return np.array([index[name] for name in names], dtype=np.int64)

    def action_names(self, actions: Sequence[int] | Actions) -> tuple[str, ...]:
        """Names of indexed actions."""
        return tuple(self.actions[int(action)] for action in actions)


@dataclass(frozen=True, slots=True)
class Preset:
    """Hyperparameters of a domain: the paper's, or its author's recommendation.

    Attributes:
        horizon: H, the maximum number of low-level steps to a subgoal.
        num_codes: K, size of the VQ-VAE codebook.
        code_dimension: D, dimension of a code.
        segment_penalty: α, cost of each additional subgoal in a segmentation.
        commitment: β, weight of the VQ-VAE's commitment loss.
        epsilon: ε of eq:pi; 0 means the limit ε→0.
        demonstrations: number of training trajectories.
        longest_demonstration: steps of the longest of them; 0 for no limit.
    """

    horizon: int = 10
    num_codes: int = 64
    code_dimension: int = 128
    segment_penalty: float = 0.1
    commitment: float = 0.1
    epsilon: float = 1e-3
    demonstrations: int = 10_000
    longest_demonstration: int = 0


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A relabelling of states and actions under which the rules do not change.

    `step(transform(s), actions[a]) == transform(step(s, a))`, and goals stay goals.
    """

    name: str
    transform: Callable[[Grids], Grids]
    actions: tuple[int, ...]

    @property
    def relabels(self) -> bool:
        """Whether actions stay as they are, as when colours are exchanged."""
        return self.actions == tuple(range(len(self.actions)))


class Domain(ABC):
    """One problem family. Subclasses are frozen dataclasses whose fields are its parameters."""

    name: ClassVar[str]
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Named parameter sets besides the default, e.g. out-of-distribution instances."""
    formats: ClassVar[tuple[str, ...]] = ("text",)
    """Formats that `export` writes; the first is the default."""
    plan_inputs: ClassVar[tuple[str, ...]] = ()
    """Formats of plans, besides action names, that `read_plan` reads."""
    example: ClassVar[Example | None] = None
    """A level on which to compare methods; pages and tutorials open it."""
    environment_id: ClassVar[str | None] = None
    """Name `N` of the Gymnasium environment `hips/N-v0`; None for no environment."""

    @property
    @abstractmethod
    def spec(self) -> GridSpec:
        """Shape of the states, names of symbols and actions."""

    @property
    def preset(self) -> Preset:
        """Hyperparameters: the paper's, or your own."""
        return Preset()

    @abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Samples solvable, unsolved start states `[count, H, W]`."""

    @abstractmethod
    def step(self, states: Grids, actions: Actions) -> Grids:
        """T(s, a) for a batch: `[B, H, W]`, `[B]` -> `[B, H, W]`."""

    @abstractmethod
    def is_goal(self, states: Grids) -> Bools:
        """Which states are solved, `[B]`."""

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        """Which grids could belong to the same problem as their `origins`, `[B]`."""
        return np.asarray((states < self.spec.num_symbols).all(axis=(1, 2)))

    def fault(self, state: Grid) -> str:
        """Why a grid `[H, W]` of known symbols is no state of the domain; empty if it is one.

        A search from such a grid would prove nothing, so it is rejected as INVALID_INPUT.
        """
        return ""

    def decode(self, scores: Scores, origins: Grids) -> Grids:
        """Best grids for cell scores `[B, H, W, symbols]`; they may be illegal (see `is_legal`)."""
        return np.asarray(scores.argmax(axis=-1), dtype=np.uint8)

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        """Actions from `state` to a goal; `quality` 1 is near-optimal, 0 wanders.

        Raises:
            ExpertError: the expert found no plan within its budget.
        """
        return defaults.breadth_first_plan(self, state, rng, quality)

    def symmetries(self) -> tuple[Symmetry, ...]:
        """Symmetries other than the identity, for data augmentation."""
        return ()

    # -- knowledge for searches without a fitting model ----------------------------------------

    def estimate(self, states: Grids) -> Floats | None:
        """Estimated steps to a goal, `[B]`: finite, 0 or more, 0 at goals; None without one."""
        return None

    def is_dead(self, states: Grids) -> Bools:
        """Which states certainly lead to no goal, `[B]`.

        Searches drop these states, and a proof of unsolvability relies on it: in doubt, False.
        """
        return np.zeros(len(states), dtype=np.bool_)

    def dead_reason(self, state: Grid) -> str:
        """Why `is_dead` gives up a state."""
        return "the rules of the domain show that no goal can be reached"

    def macros(self, states: Grids) -> Macros | None:
        """Useful sequences of actions from each state; None without any.

        A search without a model takes them for subgoals. They need not cover every action, and
        should leave out those that lead to dead ends.
        """
        return None

    def tidy(self, state: Grid, actions: Actions) -> Actions:
        """A plan from `state` without the detours of the plan `actions`."""
        return actions

    # -- text and pictures ---------------------------------------------------------------------

    def text(self, state: Grid) -> str:
        """The state in the community's format, without a trailing newline."""
        return defaults.grid_text(self.spec, state)

    def parse(self, text: str) -> Grid:
        """One level; the inverse of `text`.

        Raises:
            LevelError: with line, column and reason.
        """
        levels = self.parse_many(text)
        if len(levels) != 1:
            raise LevelError(f"expected one level, found {len(levels)}")
        return levels[0]

    def parse_many(self, text: str) -> list[Grid]:
        """All levels of a text; at least one.

        Raises:
            LevelError: of the first level that cannot be read, with line, column and reason.
        """
        return [level.grid for level in defaults.all_levels(self.read(text_lines(text)))]

    def read(self, lines: Iterable[str]) -> Iterator[Level | LevelError]:
        """The levels of a stream of lines: those of `scan`, unless the text is PDDL."""
        return defaults.read_levels(self, lines)

    def scan(self, lines: Iterable[str]) -> Iterator[Level | LevelError]:
        """The levels of a stream of lines, one at a time; an error instead of an unreadable one.

        Lines come without their ends and are numbered from 1. Nothing is kept in memory but the
        level at hand.
        """
        return defaults.scan_grids(self.spec, lines)

    def export(self, states: Sequence[Grid], format: str) -> str:
        """Levels as the text of one file, in one of `formats`."""
        return defaults.export_text(self, states, format)

    def plan_formats(self, state: Grid, actions: Actions) -> Mapping[str, str]:
        """The plan in the community's formats besides action names, by name of the format."""
        return {}

    def read_plan(self, format: str, text: str) -> Actions:
        """The actions of a plan in one of `plan_inputs`.

        Raises:
            LevelError: with the column that is not an action.
        """
        raise ConfigError(f"'{self.name}' reads no plans in the format '{format}'.")

    def render(self, state: Grid, cell: int = 32) -> Image:
        """An RGB picture `[H * cell, W * cell, 3]`."""
        return defaults.render_grid(self.spec, state, cell)

    # -- classical planners --------------------------------------------------------------------

    def pddl(self, state: Grid) -> tuple[str, str] | None:
        """The PDDL domain and the problem of `state`; None without PDDL support."""
        return None

    def plan_from_pddl(self, lines: Iterable[str]) -> Actions:
        """The actions of a classical planner's plan for `pddl`, one step per line.

        Raises:
            LevelError: with the line that is not a step of the domain.
        """
        raise ConfigError(f"'{self.name}' writes no PDDL, so it cannot read PDDL plans.")

    # -- parameters ----------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The domain's parameters as JSON-compatible values."""
        return dataclasses.asdict(self) if dataclasses.is_dataclass(self) else {}

    def fit(self, grid: Grid, shape: tuple[int, int]) -> Grid | None:
        """A level of `shape` with the same plans as `grid`; None if there is none."""
        return grid if grid.shape == shape else None

    def same_rules(self, parameters: Mapping[str, Any]) -> bool:
        """Whether a model trained with these parameters learned the rules of this domain."""
        return True

    def for_grid(self, grid: Grid) -> Self:
        """This domain at the size of `grid`: itself, or a copy with changed parameters.

        Raises:
            LevelError: the domain does not support that size.
        """
        if grid.shape != self.spec.shape:
            height, width = self.spec.shape
            raise LevelError(
                f"the level has {grid.shape[0]} rows and {grid.shape[1]} columns; "
                f"this '{self.name}' needs {height} rows and {width} columns"
            )
        return self


class ScalarDomain(Domain):
    """Base of domains that define their rules for one grid; batches are loops over it."""

    @abstractmethod
    def step_one(self, state: Grid, action: int) -> Grid:
        """T(s, a) for one state; returns a new grid."""

    @abstractmethod
    def sample_one(self, rng: np.random.Generator) -> Grid:
        """One solvable start state."""

    def step(self, states: Grids, actions: Actions) -> Grids:
        """T(s, a) for a batch, one state at a time."""
        if not len(states):
            return states.copy()
        pairs = zip(states, actions, strict=True)
        return np.stack([self.step_one(state.copy(), int(action)) for state, action in pairs])

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Start states, one at a time; solved ones are redrawn."""
        drawn: list[Grid] = []
        while len(drawn) < count:
            state = self.sample_one(rng)
            if not self.is_goal(state[None])[0]:
                drawn.append(state)
        shape = (0, *self.spec.shape)
        return np.stack(drawn) if drawn else np.zeros(shape, dtype=np.uint8)


def replay(domain: Domain, state: Grid, actions: Actions) -> Grids:
    """All states along a plan, `[len(actions) + 1, H, W]`, start first."""
    states = np.empty((len(actions) + 1, *state.shape), dtype=np.uint8)
    states[0] = state
    for i, action in enumerate(actions):
        states[i + 1] = domain.step(states[i : i + 1], np.array([action], dtype=np.int64))[0]
    return states


def parse_quality(text: str) -> float:
    """Parses a quality: a name or a number in [0, 1]."""
    try:
        value = QUALITIES[text] if text in QUALITIES else float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value <= 1.0:
        names = ", ".join(QUALITIES)
        raise ConfigError(f"Quality '{text}' is neither one of {names} nor a number from 0 to 1.")
    return value
