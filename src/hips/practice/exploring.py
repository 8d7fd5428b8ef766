"""`hips explore`: states that a search expands, or should have expanded, labelled by the expert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hips.arrays import Grid
from hips.data.labels import StateLabels
from hips.domains.base import Domain
from hips.errors import DatasetError
from hips.methods.choosing import Choice
from hips.practice.searching import SearchPlan, Workplace, make_tasks, run_tasks
from hips.practice.teachers import ExpertTeacher


@dataclass(frozen=True, slots=True)
class Exploration:
    """Settings of an exploration.

    Attributes:
        seed: of sampled levels, which have their own random stream.
        max_expansions: limit of each search.
        choice: method, settings and model.
    """

    seed: int = 0
    max_expansions: int = 50
    choice: Choice = field(default_factory=Choice)


def explore(
    domain: Domain,
    levels: int | Sequence[Grid],
    how: Exploration | None = None,
    place: Workplace | None = None,
) -> StateLabels:
    """Searches levels and labels every state that was, or should have been, expanded.

    Args:
        domain: a registered domain with an expert.
        levels: number of levels to sample, or the levels themselves.
        how: settings of the exploration.
        place: where the searches run and keep their results.

    Raises:
        DatasetError: the expert could label none of the states.
    """
    how = how or Exploration()
    plan = SearchPlan("explore", how.seed, how.max_expansions, how.choice, ExpertTeacher(0))
    given, sampled = ((), levels) if isinstance(levels, int) else (levels, 0)
    lesson = run_tasks(domain, make_tasks(domain, plan, given, sampled), place or Workplace())
    if not len(lesson.labels):
        raise DatasetError("Nothing to save: the expert could label none of the states.")
    origin = {
        "domain": domain.name,
        "parameters": domain.parameters(),
        "seed": how.seed,
        "levels": lesson.levels,
        "expansions": how.max_expansions,
        "states": len(lesson.labels),
        "dead_ends": lesson.dead_ends,
    }
    return replace(lesson.labels, origin=origin)
