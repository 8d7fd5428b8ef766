"""`Planner`, the main interface: a domain, a method, its model if any, and the settings."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from hips import domains, parts
from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import ConfigError, LevelError, MissingExtraError, ModelError
from hips.methods.base import Execution, Wiring
from hips.methods.choosing import (
    Choice,
    choose_method,
    complete_settings,
    find_model,
    note_left_out,
)
from hips.methods.runs import Finisher, Ready, Run
from hips.models.bundle import Bundle
from hips.models.runtime import GraphRuntime, Precision
from hips.planner.budget import Budget
from hips.planner.components import Components
from hips.planner.generators import GENERATORS
from hips.planner.outcomes import Outcome
from hips.planner.protocols import (
    ActionPolicy,
    Dynamics,
    Heuristic,
    ReachPolicy,
    SubgoalGenerator,
)
from hips.planner.result import Provenance, Result
from hips.planner.rounds import Observer
from hips.planner.settings import Settings

Level: TypeAlias = str | Grid | Sequence[Sequence[int]]
Runtimes: TypeAlias = dict[tuple[str, str | None], GraphRuntime]


class Planner:
    """Solves levels of one domain; thread-safe.

    >>> from hips import domains
    >>> planner = Planner(domains.create("sliding_tiles", height=2, width=2))
    >>> planner.solve([[1, 0], [2, 3]]).plan
    ('left',)

    Args:
        domain: the domain, at its usual size; levels of other sizes are solved at their own.
        choice: method, settings and model.
        own: your own components, which replace the model's.
    """

    def __init__(
        self, domain: Domain, choice: Choice | None = None, own: Components | None = None
    ) -> None:
        self.domain, self.choice = domain, choice or Choice()
        self.own = own or Components()
        self._ready: dict[Domain, Ready] = {}
        self._runtimes: Runtimes = {}
        self._lock = threading.Lock()
        # A planner that cannot search should fail now, not at the first level.
        self.prepare(domain)

    @classmethod
    def load(
        cls,
        name: str,
        *,
        variant: str | None = None,
        method: str | None = None,
        model: str | Path | None = None,
        settings: Settings | None = None,
        own: Components | None = None,
        **parameters: Any,
    ) -> Self:
        """The planner of a registered domain with its installed model, if there is one.

        Args:
            name: name of the domain.
            variant: a named parameter set of the domain.
            method: name of a method; the default is the best that the model allows.
            model: name or folder of an existing model.
            settings: search settings.
            own: your own components, which replace the model's.
            **parameters: parameters of the domain.

        Raises:
            ModelError: the model is missing, damaged or for another domain, or the method needs
                one and there is none.
        """
        domain = domains.create(name, variant, **parameters)
        return cls(domain, Choice(method, settings or Settings(), model=model), own)

    def solve(
        self,
        level: Level,
        budget: Budget | None = None,
        *,
        improve: float = 0.0,
        observer: Observer | None = None,
    ) -> Result:
        """Searches for a plan for one level, given as text, grid or nested lists.

        Args:
            level: the start state.
            budget: limits of the search.
            improve: seconds to spend on shortening the plan.
            observer: observes the search.
        """
        return self.solve_many([level], budget, improve=improve, observer=observer)[0]

    def solve_many(
        self,
        levels: Sequence[Level],
        budget: Budget | None = None,
        *,
        improve: float = 0.0,
        seed: int | None = None,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Searches for plans for many levels; returns results in their order.

        After Ctrl-C, the searches that have not ended are INTERRUPTED, and plans keep the length
        that they have by then.

        Args:
            levels: start states; each size is a separate run.
            budget: limits of each search, and of all together.
            improve: seconds to spend on shortening each plan, after all searches.
            seed: recorded in the results.
            observer: observes the searches; indices are those of `levels`.
        """
        limits = budget or Budget()
        run = Run(limits, limits.deadline(), improve, seed, observer)
        self.run(levels, run)
        return run.in_order()

    def run(self, levels: Sequence[Level], run: Run) -> None:
        """Solves levels as part of a run, which keeps the results."""
        grids = [parse_level(self.domain, level) for level in levels]
        for domain, indices in self._sizes(grids, run).items():
            finisher = Finisher(self.prepare(domain), indices, run)
            finisher.solve([grids[index] for index in indices])
        run.improve_held()

    def _sizes(self, grids: Sequence[Grid], run: Run) -> dict[Domain, list[int]]:
        """Indices of the levels by size; those of no size end as INVALID_INPUT."""
        sizes: dict[Domain, list[int]] = {}
        for index, grid in enumerate(grids):
            try:
                sizes.setdefault(self.domain.for_grid(grid), []).append(index)
            except LevelError as error:
                run.report(index, Result(Outcome.INVALID_INPUT, seed=run.seed, message=str(error)))
        return sizes

    def prepare(self, domain: Domain) -> Ready:
        """The wired method for a domain of one size; cached."""
        with self._lock:
            if domain not in self._ready:
                self._ready[domain] = _wire(domain, self.choice, self.own, self._runtimes)
            return self._ready[domain]


def parse_level(domain: Domain, level: Level) -> Grid:
    """A level as a grid, from any of its forms."""
    if isinstance(level, str):
        return domain.parse(level)
    try:
        cells = np.asarray(level)
    except ValueError:  # rows of different lengths
        cells = np.zeros(0)
    if cells.ndim != 2 or not np.issubdtype(cells.dtype, np.integer) or not cells.size:
        raise LevelError("a level must be text, or a grid of integers with rows of equal length")
    if cells.min() < 0 or cells.max() > np.iinfo(np.uint8).max:
        raise LevelError(f"cells must be 0 … {domain.spec.num_symbols - 1}")
    return cells.astype(np.uint8)


def _wire(domain: Domain, choice: Choice, own: Components, runtimes: Runtimes) -> Ready:
    """Chooses method and model for a domain of one size, and wires them.

    Sizes that use the same model share its graphs in `runtimes`.
    """
    found, note = find_model(domain, choice, own)
    card = None if found is None else found.card
    method = choose_method(domain, choice, card, own)
    note = note or note_left_out(method, choice, card, own)
    obstacle = method.obstacle(domain)
    if obstacle:
        raise ModelError(f"Method '{method.name}' cannot run here: {obstacle}.")
    settings = complete_settings(domain, choice, method, card, own)
    runtime = None
    if found is not None and method.parts:
        key = (found.card.fingerprint(), settings.precision)
        if key not in runtimes:
            runtimes[key] = _runtime(found, settings, choice.execution)
        runtime = runtimes[key]
    solver = method.build(Wiring(domain, settings, runtime, choice.execution, own))
    provenance = Provenance(
        method.name,
        settings.given(),
        None if card is None or runtime is None else card.fingerprint(),
        choice.execution.describe(),
        note,
    )
    return Ready(domain, solver, provenance)


def _runtime(found: Bundle, settings: Settings, execution: Execution) -> GraphRuntime:
    if execution.device is None:
        precision: Precision = "int8" if settings.precision == "int8" else "fp32"
        return found.runtime(precision, execution.num_threads)
    if settings.precision == "int8":
        raise ConfigError("int8 runs only without torch, on the CPU; omit the device or int8.")
    try:
        from hips.training.torch_runtime import open_on_device
    except ImportError as error:
        raise MissingExtraError(f"Running a model on a device ({error.name})", "train") from None
    return open_on_device(found, parts.known(), execution.device, execution.num_threads)


def solve(
    domain: str | Domain,
    level: Level,
    *,
    settings: Settings | None = None,
    budget: Budget | None = None,
    generator: str | SubgoalGenerator | None = None,
    reach_policy: ReachPolicy | None = None,
    action_policy: ActionPolicy | None = None,
    heuristic: Heuristic | None = None,
    dynamics: Dynamics | None = None,
) -> Result:
    """Solves one level with your own components; the others come from the domain's model.

    >>> from hips import domains
    >>> tiles = domains.create("sliding_tiles", height=2, width=2)
    >>> solve(tiles, [[1, 0], [2, 3]], generator="repeat_action").outcome
    <Outcome.SOLVED: 'SOLVED'>
    """
    own = domains.create(domain) if isinstance(domain, str) else domain
    grid = parse_level(own, level)
    sized = own.for_grid(grid)
    if isinstance(generator, str):
        generator = GENERATORS.get(generator)(sized)
    components = Components(generator, reach_policy, action_policy, heuristic, dynamics)
    choice = Choice(settings=settings or Settings())
    return Planner(sized, choice, components).solve(grid, budget)
