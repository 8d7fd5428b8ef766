"""`Planner`, the main interface: a domain, a method, its model if any, and the settings."""

from __future__ import annotations

import platform
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from hips import domains, methods, parts
from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import ConfigError, LevelError, MissingExtraError, ModelError
from hips.methods.base import Execution, Method, Wiring
from hips.methods.runs import Finisher, Ready, Run
from hips.models import bundle as bundles
from hips.models.bundle import Bundle
from hips.models.card import Card, read_card
from hips.models.runtime import GraphRuntime, Precision
from hips.planner.budget import Budget
from hips.planner.components import Components
from hips.planner.evaluations import resolve
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
from hips.training.verdict import useless_parts

Level: TypeAlias = str | Grid | Sequence[Sequence[int]]
Runtimes: TypeAlias = dict[tuple[str, str | None], GraphRuntime]

PREFERRED = ("portfolio", "hips_eps", "phs_star")
"""Default methods: the first that the domain allows and whose parts the model has."""
WITH_OWN_GENERATOR = "hips_eps"
WITHOUT_MODEL = ("guided", "low_level")
"""Default methods without a model: the first that the domain allows."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How to solve, as plain data.

    Attributes:
        method: name of a method; None for the best that the model allows.
        settings: search settings; unset ones come from the model's card.
        named: a named set of settings, such as `paper`, overridden by `settings`.
        model: name or folder of an existing model; None for the domain's own, if any.
        execution: where and how it runs.
        fingerprint: hash that the model must have, empty for no model; None accepts any.
        learned_only: whether the default method leaves out what the domain knows.
    """

    method: str | None = None
    settings: Settings = field(default_factory=Settings)
    named: str | None = None
    model: str | Path | None = None
    execution: Execution = field(default_factory=Execution)
    fingerprint: str | None = None
    learned_only: bool = False

    def pinned(self, domain: Domain) -> Choice:
        """This choice with the model that this machine has; another one is refused elsewhere."""
        folder = bundles.find(self.model or domain.name)
        if folder is None:
            return replace(self, fingerprint="")
        is_folder = self.model is not None and folder == Path(self.model)
        model = folder.resolve() if is_folder else self.model
        return replace(self, model=model, fingerprint=read_card(folder).fingerprint())


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
    method = _method(domain, choice, card, own)
    note = note or _without_useless(method, choice, card, own)
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


def find_model(domain: Domain, choice: Choice, own: Components) -> tuple[Bundle | None, str]:
    """The model to use, if any, and a note if the installed one does not fit.

    Raises:
        ModelError: a model or method was requested, and no model fits this size.
    """
    method = None if choice.method is None else methods.get(choice.method)
    if method is not None and not method.parts:
        return None, ""
    name = choice.model or domain.name
    folder = bundles.find(name)
    _check_fingerprint(name, folder, choice.fingerprint)
    replaced = own != Components()
    if folder is None:
        if choice.model is not None:
            bundles.require(name)
        if method is not None and not replaced:
            raise ModelError(
                f"Method '{method.name}' needs a trained model, and none is installed for "
                f"'{domain.name}'. Train one with `hips train {domain.name}`, name one with "
                f"--model, or use --method {without_model(domain).name}."
            )
        return None, ""
    card = read_card(folder)
    misfit = card.misfit(domain)
    if misfit is None or choice.model is not None:
        return bundles.load(folder, domain), ""
    if method is not None and not replaced:
        raise ModelError(
            f"Method '{method.name}' needs a model of this size; the model '{name}' is {misfit}. "
            f"Use --method {without_model(domain).name} to search without it."
        )
    jumps = own.generator is not None or choice.settings.generator is not None
    fallback = without_model(domain) if not replaced else methods.get(WITHOUT_MODEL[-1])
    instead = "without it" if jumps else f"by {fallback.label}"
    return None, f"The model '{name}' is {misfit}; searched {instead}."


def without_model(domain: Domain) -> Method:
    """The best method on a domain that needs no model."""
    return next(one for one in map(methods.get, WITHOUT_MODEL) if not one.obstacle(domain))


def _check_fingerprint(name: str | Path, folder: Path | None, wanted: str | None) -> None:
    """Rejects a model that differs from the one that the process with the command has."""
    found = "" if folder is None else read_card(folder).fingerprint()
    if wanted is not None and found != wanted:
        here, there = (one[:12] if one else "missing" for one in (found, wanted))
        raise ModelError(
            f"The model '{name}' on the node {platform.node()} ({here}) is not that of the machine "
            f"that started the command ({there}). Install the same model on every node, or put it "
            f"into a shared folder that {bundles.SEARCH_VARIABLE} names on every node."
        )


def _method(domain: Domain, choice: Choice, card: Card | None, own: Components) -> Method:
    """The requested method, or the best that the model and the user's components allow."""
    if choice.method is not None:
        method = methods.get(choice.method)
        missing = [] if card is None else [p for p in method.parts if p not in card.parts]
        if card is not None and missing and own == Components():
            raise ModelError(
                f"Method '{method.name}' needs the part '{missing[0]}', which the model does not "
                f"have. It has: {', '.join(card.parts)}. Train one with "
                f"`hips train {card.domain} --parts {method.parts[0]}` and name it with --model."
            )
        return method
    if own.generator is not None or choice.settings.generator is not None:
        return methods.get(WITH_OWN_GENERATOR)
    # What the domain knows would compete with the user's components.
    alone = own == Components() and not choice.learned_only
    usable = set() if card is None else set(card.parts) - set(useless_parts(card.facts))
    for method in map(methods.get, PREFERRED if alone else PREFERRED[1:]):
        if card is not None and set(method.parts) <= usable and not method.obstacle(domain):
            return method
    return without_model(domain) if alone else methods.get(WITHOUT_MODEL[-1])


def _without_useless(method: Method, choice: Choice, card: Card | None, own: Components) -> str:
    """A note if the default method leaves out a part that the model's card calls useless."""
    if card is None or choice.method is not None or own != Components():
        return ""
    better = methods.get(WITH_OWN_GENERATOR)
    useless = set(useless_parts(card.facts)) - set(method.parts)
    missed = [part for part in better.parts if part in useless]
    if not missed or not set(better.parts) <= set(card.parts):
        return ""
    reason = card.facts["verdict"]["parts"][missed[0]]["reason"]
    found = f"The card calls the part '{missed[0]}' useless ({reason}); searched without it."
    return f"{found} --method {better.name} uses it all the same."


def complete_settings(
    domain: Domain, choice: Choice, method: Method, card: Card | None, own: Components
) -> Settings:
    """Complete settings: the wanted ones, adapted to the components and the device."""
    follows: dict[str, str] = {}
    if card is None and own.heuristic is None and not method.has_heuristic:
        usual = str(method.defaults.get("evaluation", "levin_ts"))
        follows["evaluation"] = "levin_ts" if resolve(usual).uses_heuristic else usual
    elif own.heuristic is not None and not method.parts:
        follows["evaluation"] = "phs_star"
    if choice.execution.device is not None:
        follows["precision"] = "fp32"
    known = {name: value for name, value in follows.items() if name in method.settings}
    return method.resolve(domain, choice.settings.completed(known), choice.named, card)


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
