"""Sokoban: push every box onto a goal; boxes cannot be pulled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hips.arrays import Actions, Bools, Floats, Grid, Grids, Image, Scores
from hips.domains import _pddl, register
from hips.domains._geometry import dihedral
from hips.domains.base import Domain, GridSpec, Preset, Symmetry
from hips.domains.defaults import require_format
from hips.domains.records import Example, Level, Macros
from hips.domains.sokoban import (
    expert,
    files,
    generator,
    kernels,
    knowledge,
    levels,
    pddl,
    sprites,
    varied,
)
from hips.domains.sokoban.example import MAZE
from hips.errors import ConfigError, LevelError

PUBLISHED, VARIED = "published", "varied"


@register("sokoban")
@dataclass(frozen=True)
class Sokoban(Domain):
    """Push every box onto a goal.

    Attributes:
        height: rows, the outer ring of walls included.
        width: columns, likewise.
        boxes: boxes of a sampled level; at most, if it is varied.
        style: how levels are sampled: published, or varied like rooms that people draw, each of its
            own size inside solid walls.
    """

    height: int = 10
    width: int = 10
    boxes: int = 4
    style: str = PUBLISHED

    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ood": {"boxes": 6},
        VARIED: {"height": 20, "width": 20, "boxes": 12, "style": VARIED},
    }
    formats: ClassVar[tuple[str, ...]] = ("xsb", "boxoban", "pddl")
    plan_inputs: ClassVar[tuple[str, ...]] = ("lurd",)
    example: ClassVar[Example | None] = MAZE
    environment_id: ClassVar[str | None] = "Sokoban"

    def __post_init__(self) -> None:
        for name, value in (("height", self.height), ("width", self.width)):
            if not levels.MIN_SIZE <= value <= levels.MAX_SIZE:
                raise ConfigError(
                    f"Sokoban's {name} is {value}; "
                    f"allowed: {levels.MIN_SIZE} to {levels.MAX_SIZE}, walls included."
                )
        if self.style not in (PUBLISHED, VARIED):
            raise ConfigError(f"Sokoban's style is '{self.style}'; allowed: {PUBLISHED}, {VARIED}.")
        if self.boxes < 1:
            raise ConfigError(f"{self.boxes} boxes in Sokoban; at least 1 is needed.")
        if (self.height - 2) * (self.width - 2) <= self.boxes:
            raise ConfigError(
                f"A {self.height} x {self.width} room has no space for {self.boxes} boxes and a "
                "player; make it larger or use fewer boxes."
            )

    @property
    def spec(self) -> GridSpec:
        """Seven symbols, four moves, a ring of walls."""
        return GridSpec(self.height, self.width, kernels.SYMBOLS, kernels.ACTIONS, border=1)

    @property
    def preset(self) -> Preset:
        """The paper's hyperparameters."""
        return Preset(
            horizon=10, num_codes=64, code_dimension=128, epsilon=0.0, demonstrations=10_340
        )

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Rooms from which boxes were pulled, each from its own seed."""
        rooms = np.zeros((count, self.height, self.width), dtype=np.uint8)
        for i, seed in enumerate(rng.integers(1 << 62, size=count)):
            rooms[i], found = self._generate(int(seed))
            if not found:
                raise ConfigError(
                    f"Found no room of {self.height} x {self.width} with {self.boxes} boxes; "
                    "make it larger or use fewer boxes."
                )
        return rooms

    def _generate(self, seed: int) -> tuple[Grid, bool]:
        """A room, and whether one was found."""
        if self.style == PUBLISHED:
            return generator.generate(self.height, self.width, self.boxes, seed)
        room, found = varied.generate(self.height, self.width, self.boxes, seed)
        return levels.pad(room, self.spec.shape), found

    def step(self, states: Grids, actions: Actions) -> Grids:
        """The player walks, or pushes one box if the square behind it is free."""
        return kernels.step(np.ascontiguousarray(states), actions)

    def is_goal(self, states: Grids) -> Bools:
        """Which rooms have every box on a goal."""
        return kernels.is_goal(states)

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        """Which grids have their origin's walls, goals and number of boxes, and one player."""
        return kernels.is_legal(states, origins)

    def fault(self, state: Grid) -> str:
        """A room is closed and has one player and as many boxes as goals."""
        return levels.fault(state)

    def decode(self, scores: Scores, origins: Grids) -> Grids:
        """The likeliest legal grids: walls and goals are given, boxes and player are placed."""
        return kernels.decode(scores, origins)

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        """Weighted A* over pushes, with random excursions below quality 1."""
        return expert.plan(state, rng, quality)

    def estimate(self, states: Grids) -> Floats:
        """Pushes of the cheapest assignment of boxes to goals, and the walk to the nearest box."""
        return knowledge.estimate(states)

    def is_dead(self, states: Grids) -> Bools:
        """Which rooms have boxes that can reach no goal, or that block each other for good."""
        return knowledge.is_dead(states)

    def dead_reason(self, state: Grid) -> str:
        """Why `is_dead` gives up a room."""
        return "a box can never be pushed to a goal"

    def macros(self, states: Grids) -> Macros:
        """A walk and a push: one for every push that the player can reach."""
        return knowledge.pushes(states)

    def tidy(self, state: Grid, actions: Actions) -> Actions:
        """The same pushes with a shortest walk to each."""
        return expert.shortest_walks(state, actions)

    def symmetries(self) -> tuple[Symmetry, ...]:
        """Rotations and reflections."""
        return dihedral(kernels.ACTIONS, square=self.height == self.width)

    def text(self, state: Grid) -> str:
        """The level in XSB characters."""
        return levels.write(state)

    def scan(self, lines: Iterable[str]) -> Iterator[Level | LevelError]:
        """Levels of an XSB, SOK or Boxoban file; small ones are padded to this domain's size."""
        for level in files.scan(lines):
            if isinstance(level, LevelError):
                yield level
            else:
                yield replace(level, grid=levels.pad(level.grid, self.spec.shape))

    def export(self, states: Sequence[Grid], format: str) -> str:
        """Levels as XSB, as a Boxoban file, or problems in PDDL."""
        require_format(self, format)
        if format == "pddl":
            return _pddl.export(self, states)
        if format == "boxoban":
            return "\n".join(f"; {i}\n{self.text(state)}\n" for i, state in enumerate(states))
        return "\n".join(f"{self.text(state)}\n" for state in states)

    def pddl(self, state: Grid) -> tuple[str, str]:
        """The PDDL domain and the problem of `state`."""
        return pddl.DOMAIN, pddl.problem(state)

    def plan_from_pddl(self, lines: Iterable[str]) -> Actions:
        """The actions of a classical planner's plan, one step per line."""
        return pddl.read_plan(lines)

    def plan_formats(self, state: Grid, actions: Actions) -> Mapping[str, str]:
        """The plan in LURD notation; capitals are pushes."""
        return {"lurd": levels.lurd(state, actions)}

    def read_plan(self, format: str, text: str) -> Actions:
        """A plan in LURD notation; capitals make no difference."""
        return levels.read_lurd(text)

    def render(self, state: Grid, cell: int = 32) -> Image:
        """Bricks, crates, targets and a round player."""
        return sprites.render(state, cell)

    def fit(self, grid: Grid, shape: tuple[int, int]) -> Grid | None:
        """The room inside solid walls; None if it is larger than `shape`."""
        padded = levels.pad(grid, shape)
        return padded if padded.shape == shape else None

    def for_grid(self, grid: Grid) -> Sokoban:
        """This domain at the size and number of boxes of `grid`."""
        boxes = int(np.isin(grid, (kernels.BOX, kernels.BOX_ON_GOAL)).sum())
        if (*grid.shape, boxes) == (self.height, self.width, self.boxes):
            return self
        try:
            return replace(self, height=grid.shape[0], width=grid.shape[1], boxes=boxes)
        except ConfigError as error:
            raise LevelError(str(error)) from None
