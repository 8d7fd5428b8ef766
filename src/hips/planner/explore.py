"""What a search meets, and what it should have met, each state labelled by the domain's expert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hips import workers
from hips.demonstrations import Progress
from hips.demonstrations.labels import DEAD_END, StateLabels
from hips.domains.base import Domain, Grid, Grids, replay
from hips.domains.recipes import Recipe
from hips.errors import DatasetError, ExpertError, UnsolvableError
from hips.planner.budget import Budget
from hips.planner.components import SearchSettings
from hips.planner.planner import installed_components
from hips.planner.protocols import Children, DynamicsMode, Expander, Heuristic
from hips.planner.search import solve_many
from hips.seeding import stream

LEVELS_A_TASK = 64


@dataclass(frozen=True, slots=True)
class Recorder:
    """An expander that remembers what it was asked to expand."""

    inner: Expander
    expanded: list[Grids] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """As the inner one."""
        return self.inner.complete

    @property
    def mode(self) -> DynamicsMode:
        """As the inner one."""
        return self.inner.mode

    @property
    def heuristic(self) -> Heuristic | None:
        """As the inner one."""
        return self.inner.heuristic

    def expand(self, states: Grids) -> Children:
        """Remembers, and passes on."""
        self.expanded.append(states.copy())
        return self.inner.expand(states)


@dataclass(frozen=True, slots=True)
class _Task:
    """Some levels of an exploration: `given` ones, or drawn from a stream named after `index`."""

    recipe: Recipe
    settings: SearchSettings
    model: str | Path | None
    expansions: int
    seed: int
    index: int
    count: int
    given: tuple[Grid, ...] = ()

    def run(self) -> tuple[Grids, list[int]]:
        """Distinct states of the searches, and their labels; what the expert gives up on is not."""
        domain = self.recipe.create()
        rng = stream(self.seed, "explore", domain.name, self.index)
        levels = self.given or tuple(domain.sample(rng, self.count))
        states = self._met(domain, list(levels), rng)
        kept: list[Grid] = []
        remaining: list[int] = []
        for state in states:
            try:
                label = len(domain.expert(state, rng))
            except UnsolvableError:
                label = DEAD_END
            except ExpertError:
                continue
            kept.append(state)
            remaining.append(label)
        return np.array(kept, dtype=np.uint8).reshape(-1, *domain.spec.shape), remaining

    def _met(self, domain: Domain, levels: list[Grid], rng: np.random.Generator) -> Grids:
        """The states that were expanded, and of levels that were not solved the expert's.

        A heuristic that takes a good state for a dead end keeps the search away from it, so it
        would never be told.
        """
        components = installed_components(domain, self.settings, self.model)(domain)
        expander = self.settings.make_expander(domain, components)
        recorder = Recorder(expander)
        evaluation = self.settings.choose_evaluation(domain, expander)
        results = solve_many(domain, levels, recorder, evaluation, Budget(self.expansions))
        missed = [
            _way(domain, level, rng)
            for level, result in zip(levels, results, strict=True)
            if not result.solved
        ]
        return np.unique(np.concatenate([*recorder.expanded, *missed]), axis=0)


def _way(domain: Domain, level: Grid, rng: np.random.Generator) -> Grids:
    """The states of the expert's plan, or none if it finds no plan."""
    try:
        return replay(domain, level, domain.expert(level, rng))
    except ExpertError:
        return level[None][:0]


def explore(
    domain: Domain,
    levels: int | Sequence[Grid],
    seed: int = 0,
    expansions: int = 50,
    settings: SearchSettings | None = None,
    model: str | Path | None = None,
    num_workers: int = 1,
    progress: Progress | None = None,
) -> StateLabels:
    """Searches levels and labels every state that was expanded, or should have been.

    Where no plan is found, the states of the expert's plan are labelled too.

    Args:
        domain: a registered domain with an expert.
        levels: how many fresh levels to search, or the levels themselves.
        seed: of fresh levels; they come from a stream of their own.
        expansions: most of each search.
        settings: how to search.
        model: name or folder of a model; None takes the installed one, if any.
        num_workers: processes.
        progress: called with the number of levels done and their total.

    Raises:
        DatasetError: the expert gave up on every state.
    """
    recipe, chosen = Recipe.of(domain), settings or SearchSettings()
    given = () if isinstance(levels, int) else tuple(levels)
    count = levels if isinstance(levels, int) else len(given)
    tasks = [
        _Task(
            recipe, chosen, model, expansions, seed, index,
            min(LEVELS_A_TASK, count - first), given[first : first + LEVELS_A_TASK],
        )
        for index, first in enumerate(range(0, count, LEVELS_A_TASK))
    ]  # fmt: skip
    found: dict[int, tuple[Grids, list[int]]] = {}
    done = 0
    for task, result in workers.run(_Task.run, tasks, num_workers):
        found[task.index] = result
        done += task.count
        if progress is not None:
            progress(done, count)
    states = np.concatenate([found[task.index][0] for task in tasks])
    remaining = np.concatenate([found[task.index][1] for task in tasks]).astype(np.int32)
    if not len(states):
        raise DatasetError("nothing to label: the expert gave up on every state.")
    origin = {
        "domain": domain.name,
        "parameters": domain.parameters(),
        "seed": seed,
        "levels": count,
        "expansions": expansions,
        "states": len(states),
        "dead_ends": int((remaining == DEAD_END).sum()),
    }
    return StateLabels(states, remaining, origin)
