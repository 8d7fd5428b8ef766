"""The sliding tile puzzle: move the blank until the tiles are in order.

The goal is `0 1 2 …` row by row with the blank (0) at the top left, or `1 2 … 0` with the blank at
the bottom right; an action names the direction the *blank* moves. Half of all arrangements cannot
be solved, but they are legal states.

Everything that depends on the goal is written for the blank at the top left. A puzzle with the
blank last is *turned* for it: by 180 degrees, tile t becoming tile N - t.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from hips.arrays import Actions, Bools, Floats, Grid, Grids, Image, Scores
from hips.domains import _pddl, register
from hips.domains.base import Domain, GridSpec, Preset, Symmetry
from hips.domains.defaults import require_format
from hips.domains.records import Level
from hips.domains.sliding_tiles import assignment, estimates, expert, kernels, levels, pddl
from hips.domains.sliding_tiles.levels import MAX_SIDE, MIN_SIDE
from hips.errors import ConfigError, LevelError

ACTIONS = ("up", "right", "down", "left")


@lru_cache(maxsize=32)
def _spec(height: int, width: int) -> GridSpec:
    tiles = tuple(str(tile) for tile in range(1, height * width))
    return GridSpec(height, width, ("blank", *tiles), ACTIONS)


@register("sliding_tiles")
@dataclass(frozen=True, slots=True)
class SlidingTiles(Domain):
    """Slide tiles into the blank until all are in order; the default is the 24-puzzle.

    Attributes:
        height: rows, 2 to 6.
        width: columns, 2 to 6.
        blank_last: whether the goal has the blank at the bottom right instead of the top left.
    """

    height: int = 5
    width: int = 5
    blank_last: bool = False

    formats: ClassVar[tuple[str, ...]] = ("text", "pddl")
    environment_id: ClassVar[str | None] = "SlidingTiles"

    def __post_init__(self) -> None:
        """Rejects other sizes."""
        for side, value in (("height", self.height), ("width", self.width)):
            if not isinstance(value, int) or not MIN_SIDE <= value <= MAX_SIDE:
                raise ConfigError(
                    f"sliding_tiles: {side} is {value!r}; it must be {MIN_SIDE} to {MAX_SIDE}."
                )

    @property
    def spec(self) -> GridSpec:
        """`height` x `width` cells, one symbol per tile."""
        return _spec(self.height, self.width)

    @property
    def preset(self) -> Preset:
        """The paper's hyperparameters."""
        return Preset(
            horizon=10, num_codes=64, code_dimension=128, epsilon=1e-5, demonstrations=5_100
        )

    def _flat(self, states: Grids) -> Grids:
        return np.ascontiguousarray(states).reshape(len(states), self.height * self.width)

    def _towards_goal(self, states: Grids) -> Grids:
        """Flat grids `[B, N]` with the goal `0 1 2 …`; its own inverse."""
        flat = self._flat(states)
        if not self.blank_last:
            return flat
        return np.where(flat == 0, 0, self.height * self.width - flat)[:, ::-1].astype(np.uint8)

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Puzzles drawn uniformly from the solvable half, excluding the goal."""
        size = self.height * self.width
        states = np.empty((count, size), dtype=np.uint8)
        missing = np.arange(count)
        while len(missing):
            ordered = np.tile(np.arange(size, dtype=np.uint8), (len(missing), 1))
            drawn = rng.permuted(ordered, axis=1)
            # Swapping tiles 1 and 2 maps the unsolvable half one-to-one onto the solvable one.
            odd = kernels.invariants(drawn, self.width) != 0
            drawn[odd] = _exchange(size)[drawn[odd]]
            states[missing] = drawn
            missing = missing[kernels.is_goal(drawn)]
        return self._towards_goal(states).reshape(count, self.height, self.width)

    def step(self, states: Grids, actions: Actions) -> Grids:
        """Moves each blank; a move off the board changes nothing."""
        moved = kernels.step(self._flat(states), actions, self.height, self.width)
        return moved.reshape(states.shape)

    def is_goal(self, states: Grids) -> Bools:
        """Which puzzles are in order."""
        return kernels.is_goal(self._towards_goal(states))

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        """Which grids are permutations in the same half as their origins.

        Moves never leave a half, so grids in the other one cannot be reached.
        """
        return kernels.is_legal(self._flat(states), self._flat(origins), self.width)

    def solvable(self, states: Grids) -> Bools:
        """Which puzzles have a solution; a grid that is not a permutation has none."""
        solvable: Bools = kernels.invariants(self._towards_goal(states), self.width) == 0
        return solvable

    def is_dead(self, states: Grids) -> Bools:
        """Which puzzles are in the half that cannot be solved."""
        return ~self.solvable(states)

    def dead_reason(self, state: Grid) -> str:
        """Why `is_dead` gives up a puzzle."""
        return (
            "the parity is wrong: every move keeps the parity of the permutation plus the blank's "
            "place, and the goal has the other one"
        )

    def estimate(self, states: Grids) -> Floats:
        """Distances of the tiles, weighted so that far tiles count more, and linear conflicts."""
        flat = np.ascontiguousarray(self._towards_goal(states))
        return estimates.estimate_all(flat, self.width, estimates.tables(self.height, self.width))

    def same_rules(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the goal is that of other parameters."""
        return bool(parameters.get("blank_last", False)) == self.blank_last

    def fault(self, state: Grid) -> str:
        """A puzzle has every tile once."""
        if (np.sort(state, axis=None) == np.arange(state.size)).all():
            return ""
        return f"every tile from 0 (the blank) to {state.size - 1} must occur once"

    def decode(self, scores: Scores, origins: Grids) -> Grids:
        """The best-scoring permutations in the same half as their origins."""
        size = self.height * self.width
        flat = np.ascontiguousarray(scores, dtype=np.float32).reshape(len(scores), size, size)
        best = assignment.decode(flat, self._flat(origins), self.width)
        return best.reshape(len(scores), self.height, self.width)

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        """A plan by beam search; below quality 1, also line-by-line plans and detours."""
        flat = self._towards_goal(state[None])[0]
        plan = expert.plan(flat, self.height, self.width, rng, quality)
        return (plan + 2) % 4 if self.blank_last else plan

    def symmetries(self) -> tuple[Symmetry, ...]:
        """Transposition of the grid and of the tiles' labels (square puzzles only)."""
        if self.height != self.width:
            return ()
        mirror = np.arange(self.height * self.width, dtype=np.uint8)
        mirror = mirror.reshape(self.height, self.width).T.ravel()

        def transpose(states: Grids) -> Grids:
            turned = self._towards_goal(states).reshape(states.shape)
            transposed = np.ascontiguousarray(mirror[turned].swapaxes(1, 2))
            return self._towards_goal(transposed).reshape(states.shape)

        return (Symmetry("transpose", transpose, (3, 2, 1, 0)),)

    def text(self, state: Grid) -> str:
        """One line of numbers, row by row; 0 is the blank."""
        return levels.format_line(state)

    def scan(self, lines: Iterable[str]) -> Iterator[Level | LevelError]:
        """One puzzle per line, or one row per line; solvable or not, other sizes are allowed."""
        return levels.scan_lines(lines, self.height, self.width)

    def export(self, states: Sequence[Grid], format: str) -> str:
        """One puzzle per line, or problems in PDDL."""
        require_format(self, format)
        if format == "pddl":
            return _pddl.export(self, states)
        return "".join(f"{self.text(state)}\n" for state in states)

    def pddl(self, state: Grid) -> tuple[str, str]:
        """Domain and problem in PDDL, for classical planners."""
        return pddl.domain_text(), pddl.problem_text(state, self.blank_last)

    def plan_from_pddl(self, lines: Iterable[str]) -> Actions:
        """The actions of a classical planner's plan, one step per line."""
        return _pddl.read_moves(lines)

    def render(self, state: Grid, cell: int = 32) -> Image:
        """Numbered blocks in a tray."""
        from hips.domains.sliding_tiles import sprites  # Pillow is only needed for pictures.

        return sprites.render(state, cell)

    def for_grid(self, grid: Grid) -> Self:
        """This puzzle at the size of `grid`."""
        if grid.shape == self.spec.shape:
            return self
        try:
            height, width = grid.shape
            return type(self)(height, width, self.blank_last)
        except ConfigError as error:
            raise LevelError(str(error)) from None


def _exchange(size: int) -> Grid:
    """The relabelling that swaps tiles 1 and 2, `[size]`."""
    labels = np.arange(size, dtype=np.uint8)
    labels[[1, 2]] = labels[[2, 1]]
    return labels
