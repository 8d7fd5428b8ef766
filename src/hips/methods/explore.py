"""States that a search expands, or should have expanded, labelled by the domain's expert."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hips.arrays import Grid, Grids
from hips.data import Progress
from hips.data.labels import (
    DEAD_END,
    StateLabels,
    expert_states,
    join,
    label_states,
    load,
    save,
)
from hips.domains.base import Domain
from hips.domains.handles import DomainHandle
from hips.engines import Engine, LocalEngine
from hips.errors import DatasetError
from hips.methods.planner import Choice, Planner
from hips.models import bundle as bundles
from hips.models.card import read_card
from hips.planner.budget import Budget
from hips.planner.rounds import Observer, Round
from hips.seeding import stream

LEVELS_A_TASK = 64

logger = logging.getLogger(__name__)


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

    def work(self, emit: Callable[[StateLabels], None]) -> None:
        """Emits distinct states of the searches, with their labels."""
        domain = self.handle.open()
        rng = stream(self.seed, "explore", domain.name, self.index)
        levels = self.given or tuple(domain.sample(rng, self.count))
        emit(label_states(domain, self._met(domain, levels, rng), rng))

    def origin(self, domain: Domain) -> dict[str, Any]:
        """Everything that determines the labels, JSON-compatible."""
        model = bundles.find(self.choice.model or domain.name)
        return {
            "domain": domain.name,
            "parameters": domain.parameters(),
            "seed": self.seed,
            "expansions": self.max_expansions,
            "index": self.index,
            "count": self.count,
            "levels": hashlib.sha256(b"".join(map(np.ndarray.tobytes, self.given))).hexdigest(),
            "model": None if model is None else read_card(model).fingerprint(),
        }

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
        parts: folder that keeps the labels of finished tasks; a later run with the same settings
            takes them from there. None keeps them in memory only.
    """

    seed: int = 0
    max_expansions: int = 50
    choice: Choice = field(default_factory=Choice)
    engine: Engine = field(default_factory=LocalEngine)
    parts: Path | None = None


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

    def keep(task: ExploreTask, labels: StateLabels) -> None:
        nonlocal done
        found[task.index] = labels
        done += task.count
        if progress is not None:
            progress(done, total)

    def store(task: ExploreTask, labels: StateLabels) -> None:
        if how.parts is not None:
            save(replace(labels, origin=task.origin(domain)), _part(how.parts, task))
        keep(task, labels)

    if how.parts is not None:
        for task in tasks:
            if (labels := _finished(task, domain, how.parts)) is not None:
                keep(task, labels)
    todo = [task for task in tasks if task.index not in found]
    how.engine.run(ExploreTask.work, todo, store)
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


def _part(folder: Path, task: ExploreTask) -> Path:
    return folder / f"part-{task.index:05d}.npz"


def _finished(task: ExploreTask, domain: Domain, folder: Path) -> StateLabels | None:
    """The labels of a task that an earlier run finished; None if there are none.

    Raises:
        DatasetError: an earlier run had other settings.
    """
    path = _part(folder, task)
    if not path.exists():
        return None
    try:
        labels = load(path, domain, allow_empty=True)
    except DatasetError as error:
        logger.warning("%s Exploring these levels again.", error)
        return None
    wanted = task.origin(domain)
    if any(labels.origin.get(key) != value for key, value in wanted.items()):
        raise DatasetError(
            f"{folder}: holds the labels of an unfinished run with other settings; repeat that "
            "command, or delete the folder."
        )
    return labels


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
