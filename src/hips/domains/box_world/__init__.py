"""Box-World: keys open boxes that hold more keys; one chain leads to the gem, others are dead ends.

Rules, for the moves up, right, down and left in a walled room:

- The agent walks on floor. It picks up a loose key (one outside a box) by walking on it; a key
  already held is lost.
- A box is two cells side by side: its content on the left, its lock on the right. The agent can
  enter the lock only while holding the key of its colour. That uses up the key, the box vanishes
  and the agent holds its content. The content of a locked box cannot be entered.
- The held key is shown in the top-left cell, which is wall while nothing is held.
- Taking the gem wins; afterwards nothing moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from hips.arrays import Actions, Bools, Floats, Grid, Grids, Image, Scores
from hips.domains import _pddl, register
from hips.domains.base import Domain, GridSpec, Preset, Symmetry
from hips.domains.box_world import estimates, expert, generator, kernels, levels, pddl, sprites
from hips.domains.defaults import export_text, require_format, text_fault
from hips.domains.records import Level
from hips.errors import ConfigError, LevelError

MIN_SIZE, MAX_SIZE = 4, 30
MAX_BOXES = 60
FLIPPED_ACTIONS = (2, 1, 0, 3)


@register("box_world")
@dataclass(frozen=True)
class BoxWorld(Domain):
    """Collect keys that open locks until you hold the gem; a wrong lock can be a dead end.

    Attributes:
        size: rows and columns of the room.
        goal_length: items to collect, from the loose key to the gem: one more than the boxes of
            the chain, as in published generators.
        distractors: branches of boxes that lead away from the gem.
        distractor_length: boxes per branch.
        colours: number of key colours.
    """

    size: int = 12
    goal_length: int = 4
    distractors: int = 3
    distractor_length: int = 1
    colours: int = 20

    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ood": {"distractors": 4, "distractor_length": 3}
    }
    formats: ClassVar[tuple[str, ...]] = ("text", "pddl")
    environment_id: ClassVar[str | None] = "BoxWorld"

    def __post_init__(self) -> None:
        _require("size", self.size, MIN_SIZE, MAX_SIZE)
        _require("goal_length", self.goal_length, 2, MAX_BOXES)
        _require("distractors", self.distractors, 0, MAX_BOXES)
        _require("distractor_length", self.distractor_length, 1, MAX_BOXES)
        _require("colours", self.colours, 1, len(levels.LETTERS))
        if self.boxes > MAX_BOXES:
            raise ConfigError(f"{self.boxes} boxes are too many; at most {MAX_BOXES} are allowed.")
        needed = self.goal_length - 1 + min(self.distractors, 1) * self.distractor_length
        if self.colours < needed:
            raise ConfigError(
                f"{self.boxes} boxes need at least {needed} colours, not {self.colours}; raise "
                f"colours (up to {len(levels.LETTERS)}) or use fewer or shorter branches."
            )

    @property
    def boxes(self) -> int:
        """Number of boxes in a sampled level."""
        return self.goal_length - 1 + self.distractors * self.distractor_length

    @cached_property
    def spec(self) -> GridSpec:
        """The room with its walls; one symbol per colour, shared by keys and locks."""
        colours = tuple(f"colour_{letter}" for letter in levels.LETTERS[: self.colours])
        symbols = ("wall", "floor", "agent", "gem", *colours)
        side = self.size + 2
        return GridSpec(side, side, symbols, ("up", "right", "down", "left"))

    @property
    def preset(self) -> Preset:
        """The paper's hyperparameters."""
        return Preset(
            horizon=10,
            num_codes=64,
            code_dimension=128,
            demonstrations=22_100,
            longest_demonstration=75,
        )

    # -- rules ---------------------------------------------------------------------------------

    def step(self, states: Grids, actions: Actions) -> Grids:
        """T(s, a) for a batch: `[B, H, W]`, `[B]` -> `[B, H, W]`."""
        return kernels.step(states, actions)

    def is_goal(self, states: Grids) -> Bools:
        """Which states hold the gem, `[B]`."""
        return np.asarray(states[:, 0, 0] == kernels.GEM)

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        """Which grids have their origin's walls, one agent and no new treasures."""
        return kernels.is_legal(states, origins, self.spec.num_symbols)

    def fault(self, state: Grid) -> str:
        """A room is closed and has one agent, one gem, and a key or gem beside every lock."""
        return text_fault(self, state)

    def decode(self, scores: Scores, origins: Grids) -> Grids:
        """Best grids for cell scores; each box of the origin stays or goes."""
        return kernels.decode(scores, origins)

    # -- instances and experts -----------------------------------------------------------------

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Start states with one solution chain, `[count, H, W]`.

        Raises:
            ConfigError: the boxes do not fit.
        """
        seeds = rng.integers(2**64, size=count, dtype=np.uint64)
        grids, placed = generator.generate(
            seeds,
            self.size,
            self.goal_length,
            self.distractors,
            self.distractor_length,
            self.colours,
        )
        if not placed.all():
            raise ConfigError(
                f"{self.boxes} boxes do not fit into {self.size} × {self.size} cells; raise size "
                "or lower goal_length, distractors or distractor_length."
            )
        return grids

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        """Actions from any state to the gem; see `hips.domains.box_world.expert.plan`."""
        return expert.plan(state, rng, quality)

    def estimate(self, states: Grids) -> Floats:
        """Boxes left to open with the held key, and the walk to the next one."""
        return estimates.estimate(states, self.spec.num_symbols)

    def symmetries(self) -> tuple[Symmetry, ...]:
        """Colours relabelled by `i -> a * i + b`, each also with the room upside down."""
        factors = [a for a in range(1, self.colours + 1) if math.gcd(a, self.colours) == 1]
        return tuple(
            Symmetry(
                f"colours_{factor}i+{shift}" + ("+flip_rows" if flip else ""),
                partial(_relabel, factor=factor, shift=shift, colours=self.colours, flip=flip),
                FLIPPED_ACTIONS if flip else (0, 1, 2, 3),
            )
            for factor in factors
            for shift in range(self.colours)
            for flip in (False, True)
            if (factor, shift, flip) != (1, 0, False)
        )

    # -- text and pictures ---------------------------------------------------------------------

    def text(self, state: Grid) -> str:
        """The level as text; see `hips.domains.box_world.levels`."""
        return levels.write(state)

    def scan(self, lines: Iterable[str]) -> Iterator[Level | LevelError]:
        """The levels of a file; smaller ones are padded with wall to this domain's size."""
        return levels.scan(lines, self.size + 2, MAX_SIZE + 2, self.colours)

    def export(self, states: Sequence[Grid], format: str) -> str:
        """Levels as text, or problems in PDDL."""
        require_format(self, format)
        return _pddl.export(self, states) if format == "pddl" else export_text(self, states, format)

    def pddl(self, state: Grid) -> tuple[str, str]:
        """Domain and problem in PDDL, for classical planners."""
        return pddl.domain_text(), pddl.problem_text(state)

    def plan_from_pddl(self, lines: Iterable[str]) -> Actions:
        """The actions of a classical planner's plan, one step per line."""
        return _pddl.read_moves(lines, pddl.VERBS)

    def render(self, state: Grid, cell: int = 32) -> Image:
        """An RGB picture `[H * cell, W * cell, 3]`."""
        return sprites.draw(state, cell, self.colours)

    def for_grid(self, grid: Grid) -> Self:
        """This domain at the size of a square `grid`."""
        height, width = grid.shape
        if height != width or not MIN_SIZE <= height - 2 <= MAX_SIZE:
            raise LevelError(
                f"the level has {height} rows and {width} columns; Box-World levels are squares "
                f"of {MIN_SIZE + 2} to {MAX_SIZE + 2} rows, walls included"
            )
        return self if height == self.size + 2 else replace(self, size=height - 2)


def _require(name: str, value: int, lowest: int, highest: int) -> None:
    if not lowest <= value <= highest:
        raise ConfigError(f"Box-World: {name} is {value}; it must be {lowest} to {highest}.")


def _relabel(states: Grids, factor: int, shift: int, colours: int, flip: bool) -> Grids:
    """Permutes the colours and, with `flip`, turns the room (not the held cell) upside down."""
    table = np.arange(kernels.FIRST_COLOUR + colours, dtype=np.uint8)
    permuted = (factor * np.arange(colours) + shift) % colours
    table[kernels.FIRST_COLOUR :] = kernels.FIRST_COLOUR + permuted
    result = table[states]
    if flip:
        result[:, 1:-1] = result[:, -2:0:-1].copy()
    return result
