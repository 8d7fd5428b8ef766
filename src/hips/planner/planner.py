"""`Planner`: what people use. A domain, its trained model if there is one, and the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from hips import domains, workers
from hips.domains.base import Domain, Grid
from hips.errors import LevelError
from hips.models import bundle
from hips.planner import learned
from hips.planner.budget import Budget
from hips.planner.components import Components, SearchSettings
from hips.planner.evaluations import Evaluation, KeyFunction
from hips.planner.generators import GENERATORS
from hips.planner.improve import improve as improve_plan
from hips.planner.protocols import (
    ActionPolicy,
    Dynamics,
    DynamicsMode,
    Heuristic,
    ReachPolicy,
    SubgoalGenerator,
)
from hips.planner.result import Result
from hips.planner.search import OnResult, solve_many

Level: TypeAlias = str | Grid | Sequence[Sequence[int]]
MakeComponents: TypeAlias = Callable[[Domain], Components]


class Planner:
    """Solves levels of one domain.

    Without components it searches with low-level actions alone, which is complete but slow.

    >>> from hips import domains
    >>> planner = Planner(domains.create("sliding_tiles", height=2, width=2))
    >>> planner.solve([[1, 0], [2, 3]]).plan
    ('left',)

    Args:
        domain: the domain, at its usual size; levels of other sizes are solved at theirs.
        components: policies, generator, heuristic and model, or a function that makes them for a
            domain of a given size.
        settings: how to search.
    """

    def __init__(
        self,
        domain: Domain,
        components: Components | MakeComponents | None = None,
        settings: SearchSettings | None = None,
    ) -> None:
        self.domain = domain
        self.settings = settings or SearchSettings()
        self._components = components or Components()
        # A planner that cannot search should say so at once, not at the first level.
        self.settings.make_expander(domain, self._components_for(domain))

    @classmethod
    def load(
        cls,
        name: str,
        *,
        variant: str | None = None,
        model: str | Path | None = None,
        settings: SearchSettings | None = None,
        **parameters: Any,
    ) -> Self:
        """The planner of a registered domain with its installed model, or without if there is none.

        Args:
            name: name of the domain.
            variant: a named parameter set of the domain.
            model: name or folder of a model, which must then exist.
            settings: how to search.
            **parameters: parameters of the domain.

        Raises:
            ModelError: the model is missing, damaged or for another domain, or there is none
                and the settings need one.
        """
        domain = domains.create(name, variant, **parameters)
        chosen = settings or SearchSettings()
        return cls(domain, installed_components(domain, chosen, model), chosen)

    def solve(self, level: Level, budget: Budget | None = None, *, improve: float = 0.0) -> Result:
        """Searches a plan for one level, given as text, as a grid or as nested lists.

        Args:
            level: the start state.
            budget: limits of the search.
            improve: seconds to spend on shortening the plan.
        """
        return self.solve_many([level], budget, batch=1, improve=improve)[0]

    def solve_many(
        self,
        levels: Sequence[Level],
        budget: Budget | None = None,
        *,
        batch: int = 64,
        improve: float = 0.0,
        seed: int | None = None,
        on_result: OnResult | None = None,
    ) -> list[Result]:
        """Searches plans for many levels in lockstep; results come in their order.

        `on_result` is called with index and result whenever a search ends.
        """
        grids = [self.parse(level) for level in levels]
        sizes: dict[Domain, list[int]] = {}
        for index, grid in enumerate(grids):
            sizes.setdefault(self.domain.for_grid(grid), []).append(index)
        results: dict[int, Result] = {}
        for domain, indices in sizes.items():

            def report(
                place: int,
                result: Result,
                domain: Domain = domain,
                indices: list[int] = indices,
            ) -> None:
                index = indices[place]
                results[index] = improve_plan(domain, grids[index], result, improve)
                if on_result is not None:
                    on_result(index, results[index])

            found = self._search(domain, [grids[i] for i in indices], budget, batch, seed, report)
            for index, result in zip(indices, found, strict=True):
                results.setdefault(index, result)
        return [results[index] for index in range(len(grids))]

    def parse(self, level: Level) -> Grid:
        """A level as a grid, whichever way it is given."""
        if isinstance(level, str):
            return self.domain.parse(level)
        try:
            cells = np.asarray(level)
        except ValueError:  # rows of different lengths
            cells = np.zeros(0)
        if cells.ndim != 2 or not np.issubdtype(cells.dtype, np.integer) or not cells.size:
            raise LevelError("a level is text, or a grid of whole numbers with rows of one length")
        if cells.min() < 0 or cells.max() > np.iinfo(np.uint8).max:
            raise LevelError(f"cells must be 0 … {self.domain.spec.num_symbols - 1}")
        return cells.astype(np.uint8)

    def _search(
        self,
        domain: Domain,
        grids: list[Grid],
        budget: Budget | None,
        batch: int,
        seed: int | None,
        on_result: OnResult,
    ) -> list[Result]:
        expander = self.settings.make_expander(domain, self._components_for(domain))
        return solve_many(
            domain,
            grids,
            expander,
            self.settings.choose_evaluation(domain, expander),
            budget,
            batch=batch,
            close_on_generation=self.settings.close_on_generation,
            seed=seed,
            on_result=on_result,
        )

    def _components_for(self, domain: Domain) -> Components:
        made = self._components
        return made if isinstance(made, Components) else made(domain)


def installed_components(
    domain: Domain, settings: SearchSettings, model: str | Path | None = None
) -> MakeComponents:
    """Makes the components of the model asked for, or of the domain's own if there is one.

    A domain's own model is left aside for levels of a size that it cannot take.
    """
    name = model or domain.name
    loaded: dict[Domain, Components] = {}

    def make(sized: Domain) -> Components:
        if sized not in loaded:
            loaded[sized] = load(sized)
        return loaded[sized]

    def load(sized: Domain) -> Components:
        if model is None and not bundle.suits(sized):
            return Components()
        precision = settings.precision or ("int8" if settings.device is None else "fp32")
        threads = settings.threads or workers.cores()
        found = bundle.load(name, sized, threads, precision, settings.device)
        tuning = settings.tuning(sized)
        return learned.components(found, tuning.mass, tuning.temperature)

    return make


def solve(
    domain: str | Domain,
    level: Level,
    *,
    generator: str | SubgoalGenerator | None = None,
    evaluation: str | Evaluation | KeyFunction | None = None,
    epsilon: float | None = None,
    reach: ReachPolicy | None = None,
    low_level: ActionPolicy | None = None,
    heuristic: Heuristic | None = None,
    model: Dynamics | None = None,
    dynamics: DynamicsMode | str = DynamicsMode.TRUE,
    budget: Budget | None = None,
) -> Result:
    """Solves one level with parts of your own: any domain, generator, policy and evaluation.

    >>> from hips import domains
    >>> tiles = domains.create("sliding_tiles", height=2, width=2)
    >>> solve(tiles, [[1, 0], [2, 3]], generator="repeat_action", evaluation="levin_ts").outcome
    <Outcome.SOLVED: 'solved'>
    """
    own = domains.create(domain) if isinstance(domain, str) else domain
    if isinstance(generator, str):
        generator = GENERATORS.get(generator)(own)
    parts = Components(generator, reach, low_level, heuristic, model)
    settings = SearchSettings(
        evaluation=evaluation, epsilon=epsilon, dynamics=DynamicsMode(dynamics)
    )
    return Planner(own, parts, settings).solve(level, budget)
