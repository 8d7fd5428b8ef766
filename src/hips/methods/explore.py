"""States that a search expands, or should have expanded, labelled by the domain's expert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hips.arrays import Grid, Grids
from hips.data import Progress
from hips.data.labels import DEAD_END, StateLabels, expert_states, join, label_states
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.engines import Engine, LocalEngine
from hips.errors import DatasetError
from hips.methods.planner import Choice, Planner
from hips.planner.budget import Budget
from hips.planner.rounds import Observer, Round
from hips.seeding import stream

LEVELS_A_TASK = 64


class ExpandedStates(Observer):
    """Records every expanded state."""

    def __init__(self) -> None:
        self.found: list[Grids] = []

    def on_round(self, round: Round) -> None:
        """Records the states of a round."""
        self.found.append(round.expanded.states)


@dataclass(frozen=True, slots=True)
class ExploreTask:
    """Some levels to explore: `given` ones, or sampled from a stream named after `index`."""

    handle: DomainHandle
    choice: Choice
    max_expansions: int
    seed: int
    index: int
    count: int
    given: tuple[Grid, ...] = ()

    def run(self) -> StateLabels:
        """Distinct states of the searches, with their labels."""
        domain = self.handle.open()
        rng = stream(self.seed, "explore", domain.name, self.index)
        levels = self.given or tuple(domain.sample(rng, self.count))
        return label_states(domain, self._met(domain, levels, rng), rng)

    def _met(self, domain: Domain, levels: Sequence[Grid], rng: np.random.Generator) -> Grids:
        """The expanded states and, for unsolved levels, those of the expert's plan.

        A heuristic that mistakes a good state for a dead end keeps the search away from it, so the
        search alone would never correct it.
        """
        watcher = ExpandedStates()
        results = Planner(domain, self.choice).solve_many(
            levels, Budget(self.max_expansions), observer=watcher
        )
        missed = [
            expert_states(domain, level, rng)
            for level, result in zip(levels, results, strict=True)
            if not result.solved
        ]
        return np.unique(np.concatenate([*watcher.found, *missed]), axis=0)


@dataclass(frozen=True, slots=True)
class Exploration:
    """Settings of an exploration.

    Attributes:
        seed: of sampled levels, which have their own random stream.
        max_expansions: limit of each search.
        choice: method, settings and model.
        engine: where the searches run.
    """

    seed: int = 0
    max_expansions: int = 50
    choice: Choice = field(default_factory=Choice)
    engine: Engine = field(default_factory=LocalEngine)


def explore(
    domain: Domain,
    levels: int | Sequence[Grid],
    how: Exploration | None = None,
    progress: Progress | None = None,
) -> StateLabels:
    """Searches levels and labels every state that was, or should have been, expanded.

    Args:
        domain: a registered domain with an expert.
        levels: number of levels to sample, or the levels themselves.
        how: settings of the exploration.
        progress: called with the number of levels done and their total.

    Raises:
        DatasetError: the expert could label none of the states.
    """
    how = how or Exploration()
    tasks = _tasks(domain, levels, how)
    total = sum(task.count for task in tasks)
    found: dict[int, StateLabels] = {}
    done = 0
    for task, labels in how.engine.run(ExploreTask.run, tasks):
        found[task.index] = labels
        done += task.count
        if progress is not None:
            progress(done, total)
    joined = join([found[task.index] for task in tasks], {})
    if not len(joined):
        raise DatasetError("Nothing to save: the expert could label none of the states.")
    origin = {
        "domain": domain.name,
        "parameters": domain.parameters(),
        "seed": how.seed,
        "levels": total,
        "expansions": how.max_expansions,
        "states": len(joined),
        "dead_ends": int((joined.remaining == DEAD_END).sum()),
    }
    return replace(joined, origin=origin)


def _tasks(domain: Domain, levels: int | Sequence[Grid], how: Exploration) -> list[ExploreTask]:
    handle = DomainHandle.of(domain)
    given = () if isinstance(levels, int) else tuple(levels)
    count = levels if isinstance(levels, int) else len(given)
    return [
        ExploreTask(
            handle,
            how.choice,
            how.max_expansions,
            how.seed,
            index,
            min(LEVELS_A_TASK, count - first),
            given[first : first + LEVELS_A_TASK],
        )
        for index, first in enumerate(range(0, count, LEVELS_A_TASK))
    ]
