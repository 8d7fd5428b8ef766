"""The same searches in several processes, for machines with several cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hips import workers
from hips.domains.base import Domain, Grid
from hips.domains.recipes import Recipe
from hips.planner.budget import Budget
from hips.planner.components import SearchSettings
from hips.planner.outcomes import Outcome
from hips.planner.planner import Planner, installed_components
from hips.planner.result import Result
from hips.planner.search import OnResult

CHUNKS_PER_WORKER = 4
_planners: dict[tuple[Domain, str | Path | None, SearchSettings], Planner] = {}


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """Everything about a run but the levels, as plain data.

    Attributes:
        settings: how to search; its evaluation by name.
        model: name or folder of a model; None takes the installed one, if any.
        budget: limits of each search.
        batch: searches in lockstep, in each process.
        improve: seconds to spend on shortening each plan.
        seed: noted in the results.
    """

    settings: SearchSettings = field(default_factory=SearchSettings)
    model: str | Path | None = None
    budget: Budget = field(default_factory=Budget)
    batch: int = 64
    improve: float = 0.0
    seed: int | None = None

    def solve(
        self, domain: Domain, levels: Sequence[Grid], on_result: OnResult | None = None
    ) -> list[Result]:
        """Solves levels in this process; the planner is kept for the next call."""
        return self._planner(domain).solve_many(
            levels,
            self.budget,
            batch=self.batch,
            improve=self.improve,
            seed=self.seed,
            on_result=on_result,
        )

    def _planner(self, domain: Domain) -> Planner:
        key = (domain, self.model, self.settings)
        if key not in _planners:
            components = installed_components(domain, self.settings, self.model)
            _planners[key] = Planner(domain, components, self.settings)
        return _planners[key]


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What one call of a worker gets."""

    recipe: Recipe
    options: SolveOptions
    indices: range
    levels: tuple[Grid, ...]

    def solve(self) -> list[Result]:
        """Solves the levels in the process that calls this."""
        return self.options.solve(self.recipe.create(), self.levels)


def solve_in_processes(
    domain: Domain,
    levels: Sequence[Grid],
    options: SolveOptions,
    num_workers: int,
    on_result: OnResult | None = None,
) -> list[Result]:
    """Solves levels of a registered domain in `num_workers` processes; results in their order.

    After Ctrl-C, levels whose chunk has not come back are INTERRUPTED.
    """
    if num_workers <= 1 or len(levels) <= 1:
        return options.solve(domain, levels, on_result)
    recipe = Recipe.of(domain)
    num_chunks = min(len(levels), num_workers * CHUNKS_PER_WORKER)
    slices = [range(first, len(levels), num_chunks) for first in range(num_chunks)]
    chunks = [
        _Chunk(recipe, options, indices, tuple(levels[i] for i in indices)) for indices in slices
    ]
    results = [Result(Outcome.INTERRUPTED, seed=options.seed) for _ in levels]
    try:
        for chunk, found in workers.run(_Chunk.solve, chunks, num_workers):
            for index, result in zip(chunk.indices, found, strict=True):
                results[index] = result
                if on_result is not None:
                    on_result(index, result)
    except KeyboardInterrupt:
        pass
    return results
