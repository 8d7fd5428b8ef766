"""The travelling salesman on a grid: visit every city by moving, and return to the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Self

import numpy as np

from hips.arrays import Actions, Bools, Floats, Grid, Grids, Image, Scores
from hips.domains import _pddl, register
from hips.domains._geometry import dihedral
from hips.domains.base import Domain, GridSpec, Preset, Symmetry, replay
from hips.domains.defaults import export_text, require_format
from hips.domains.records import Level
from hips.domains.tsp import estimates, expert, kernels, levels, pddl, tsplib
from hips.domains.tsp.kernels import AGENT, CITY, FLOOR, START, VISITED
from hips.domains.tsp.levels import MAX_SIZE, MIN_SIZE
from hips.errors import ConfigError, LevelError

ACTIONS = ("up", "right", "down", "left")
_GROUND = ("floor", "city", "visited", "start")
SYMBOLS = (*_GROUND, *(f"agent_on_{ground}" for ground in _GROUND))


@register("tsp")
@dataclass(frozen=True, slots=True)
class TravellingSalesman(Domain):
    """Visit every city and return to the start.

    Attributes:
        size: rows and columns.
        cities: cities of a sampled map, besides the start.
    """

    size: int = 25
    cities: int = 25

    formats: ClassVar[tuple[str, ...]] = ("text", "tsplib", "pddl")
    environment_id: ClassVar[str | None] = "TSP"

    def __post_init__(self) -> None:
        """Rejects maps that are too small, too large or too full."""
        if not isinstance(self.size, int) or not MIN_SIZE <= self.size <= MAX_SIZE:
            raise ConfigError(f"tsp: size is {self.size!r}; it must be {MIN_SIZE} to {MAX_SIZE}.")
        most = self.size**2 - 1
        if not isinstance(self.cities, int) or not 1 <= self.cities <= most:
            raise ConfigError(
                f"tsp: cities is {self.cities!r}; a map of size {self.size} has 1 to {most}."
            )

    @property
    def spec(self) -> GridSpec:
        """`size` x `size` cells; four kinds of ground, each with or without the agent."""
        anchors = tuple(AGENT + ground for ground in (FLOOR, CITY, VISITED, START))
        return GridSpec(self.size, self.size, SYMBOLS, ACTIONS, anchors=anchors)

    @property
    def preset(self) -> Preset:
        """The paper's hyperparameters."""
        return Preset(
            horizon=50,
            num_codes=32,
            code_dimension=64,
            segment_penalty=0.05,
            commitment=0.0,
            epsilon=0.0,
            demonstrations=10_000,
        )

    def _flat(self, states: Grids) -> Grids:
        return np.ascontiguousarray(states).reshape(len(states), self.size**2)

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        """Maps with `cities` cities and the start in distinct random cells."""
        states = np.full((count, self.size**2), FLOOR, dtype=np.uint8)
        for state in states:
            places = rng.choice(self.size**2, size=self.cities + 1, replace=False)
            state[places] = CITY
            state[places[0]] = AGENT + START
        return states.reshape(count, self.size, self.size)

    def step(self, states: Grids, actions: Actions) -> Grids:
        """Moves each agent; a move off the map changes nothing."""
        return kernels.step(self._flat(states), actions, self.size).reshape(states.shape)

    def is_goal(self, states: Grids) -> Bools:
        """Which agents are back at the start with every city visited."""
        return kernels.is_goal(self._flat(states))

    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        """Which grids have their origin's map, one agent and no visit undone."""
        return kernels.is_legal(self._flat(states), self._flat(origins))

    def fault(self, state: Grid) -> str:
        """A map has one start, one agent and a city."""
        return levels.fault(state)

    def decode(self, scores: Scores, origins: Grids) -> Grids:
        """The legal grids of largest total score."""
        flat = np.ascontiguousarray(scores, dtype=np.float32)
        flat = flat.reshape(len(scores), self.size**2, len(SYMBOLS))
        return kernels.decode(flat, self._flat(origins)).reshape(origins.shape)

    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        """A walk along a good tour; below quality 1 some legs lead to random cities."""
        return expert.plan(self._flat(state[None])[0], self.size, rng, quality)

    def estimate(self, states: Grids) -> Floats:
        """Length of a minimum spanning tree over agent, unvisited cities and start."""
        return estimates.estimate(self._flat(states), self.size)

    def tidy(self, state: Grid, actions: Actions) -> Actions:
        """The tour of a plan, shortened by 2-opt and or-opt."""
        passed = [kernels.find_agent(cells) for cells in self._flat(replay(self, state, actions))]
        return expert.tidy(self._flat(state[None])[0], self.size, np.array(passed, dtype=np.int64))

    def symmetries(self) -> tuple[Symmetry, ...]:
        """The seven rotations and reflections."""
        return dihedral(ACTIONS)

    def text(self, state: Grid) -> str:
        """A grid of characters (see `levels`)."""
        return levels.format_grid(state)

    def scan(self, lines: Iterable[str]) -> Iterator[Level | LevelError]:
        """Text grids of any size, or TSPLIB instances, scaled onto the grid where they must be."""
        head: list[str] = []
        rest = iter(lines)
        for line in rest:
            head.append(line if line.strip() else "")
            if line.strip():
                break
        if head and tsplib.looks_like(head[-1]):
            return tsplib.scan_instances(chain(head, rest), self.size)
        return levels.scan_grids(chain(head, rest))

    def export(self, states: Sequence[Grid], format: str) -> str:
        """Maps as text grids, start states as TSPLIB instances, or problems in PDDL."""
        require_format(self, format)
        if format == "tsplib":
            return tsplib.format_instances(states)
        if format == "pddl":
            return _pddl.export(self, states)
        return export_text(self, states, format)

    def plan_formats(self, state: Grid, actions: Actions) -> Mapping[str, str]:
        """The order in which a plan first visits the cities, as a TSPLIB tour."""
        return {"tsplib_tour": tsplib.format_tour(state, actions)}

    def pddl(self, state: Grid) -> tuple[str, str]:
        """Domain and problem in PDDL, for classical planners."""
        return pddl.domain_text(), pddl.problem_text(state)

    def plan_from_pddl(self, lines: Iterable[str]) -> Actions:
        """The actions of a classical planner's plan, one step per line."""
        return _pddl.read_moves(lines)

    def render(self, state: Grid, cell: int = 32) -> Image:
        """A map with cities, the start and the agent."""
        from hips.domains.tsp import sprites  # Pillow is only needed for pictures.

        return sprites.render(state, cell)

    def for_grid(self, grid: Grid) -> Self:
        """This domain at the size and number of cities of `grid`."""
        if grid.shape == self.spec.shape:
            return self
        if grid.shape[0] != grid.shape[1]:
            raise LevelError(f"the map has {grid.shape[0]} rows and {grid.shape[1]} columns")
        cities = int(np.isin(grid % AGENT, (CITY, VISITED)).sum())
        try:
            return type(self)(grid.shape[0], cities)
        except ConfigError as error:
            raise LevelError(str(error)) from None
