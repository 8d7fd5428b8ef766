"""Methods: named ways to solve instances, each reduced to settings that results can repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from hips import baselines
from hips.domains.base import CONFIDENCE, HOPE, Domain, Grid
from hips.errors import ConfigError, ModelError
from hips.models import bundle
from hips.planner.budget import Budget
from hips.planner.components import SearchSettings
from hips.planner.parallel import SolveOptions
from hips.planner.protocols import DynamicsMode
from hips.planner.result import Result
from hips.planner.search import OnResult

Peer: TypeAlias = Callable[[Domain, Grid, float | None], Result]
PEERS: Mapping[str, Peer] = {"lama": baselines.lama}
"""Planners made by others, by the name of the method."""
KINDS = ("search", "peer")


@dataclass(frozen=True, slots=True)
class Method:
    """A way to solve instances.

    Attributes:
        name: what results call it.
        label: what reports call it.
        kind: `search` for the search of this package, `peer` for another planner.
        search: which children a node has.
        evaluation: in which order nodes are expanded.
        epsilon: ε of eq:pi; None for what suits the domain.
        dynamics: who simulates what.
        weight: of the heuristic; None for what suits the domain.
        temperature: of the prior; None for what suits the domain.
        mass: share of the prior's mass that is decoded; None for what suits the domain.
        confidence: from which probability on foreseen actions are executed; None likewise.
        hope: from which chance on a subgoal is tried; None likewise.
        close_on_generation: never update a generated state (the published protocol).
        data: what the model was trained on, if not on what serves best: `paper` stands for the
            model called `DOMAIN-paper`.
        model: name or folder of a model; None for the domain's own.
        needs_model: whether it cannot run without a model.
    """

    name: str
    label: str
    kind: str = "search"
    search: str | None = None
    evaluation: str | None = None
    epsilon: float | None = None
    dynamics: str = "true"
    weight: float | None = None
    temperature: float | None = None
    mass: float | None = None
    confidence: float | None = None
    hope: float | None = None
    close_on_generation: bool = False
    data: str | None = None
    model: str | None = None
    needs_model: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"Method '{self.name}' is of kind '{self.kind}', not {KINDS}.")

    @staticmethod
    def from_json(name: str, content: Mapping[str, Any]) -> Method:
        """The method that an entry of the catalogue describes."""
        try:
            return Method(name, **{"label": name, **content})
        except TypeError as error:
            raise ConfigError(f"Method '{name}' of the catalogue is not valid ({error}).") from None

    def configuration(self, domain: Domain) -> str:
        """Everything that decides the search, spelled out: equal texts mean equal searches."""
        if self.kind == "peer":
            return f"peer {self.name}"
        tuning = self._settings().tuning(domain)
        mixed, jumping = self.search in (None, "hips-eps"), self.search != "low-level"
        softened = jumping and tuning.temperature != 1.0
        careful = jumping and tuning.confidence != CONFIDENCE
        hopeful = jumping and tuning.hope != HOPE
        return " ".join(
            [
                self.search or "search",
                self.evaluation or "suitable",
                f"ε={tuning.epsilon:g}" if mixed else "ε=none",
                self.dynamics,
                *([f"mass={tuning.mass:g}"] if jumping else []),
                *([] if tuning.weight == 1.0 else [f"weight={tuning.weight:g}"]),
                *([f"temperature={tuning.temperature:g}"] if softened else []),
                *([f"confidence={tuning.confidence:g}"] if careful else []),
                *([f"hope={tuning.hope:g}"] if hopeful else []),
                *([f"reach={tuning.horizon}"] if jumping and tuning.horizon else []),
                *(["closed"] if self.close_on_generation else []),
                *([] if self.data is None else [f"data={self.data}"]),
            ]
        )

    def missing(self, domain: Domain) -> str:
        """Why the method cannot run on `domain`; empty if it can."""
        if self.kind == "peer":
            if _find_peer(self.name) is None:
                return f"'{self.name}' is not installed"
            return "" if "pddl" in domain.formats else f"'{domain.name}' writes no PDDL"
        if self.needs_model and self._model_folder(domain) is None:
            return f"no model '{self.model_name(domain)}' is installed"
        return ""

    def model_name(self, domain: Domain) -> str:
        """Name or folder of the model that is used on `domain`."""
        own = domain.name if self.data is None else f"{domain.name}-{self.data}"
        return self.model or own

    def model_hash(self, domain: Domain) -> str | None:
        """Fingerprint of the model that would be used."""
        folder = self._model_folder(domain) if self.kind == "search" else None
        return None if folder is None else bundle.fingerprint(folder)

    def solve(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        batch: int,
        seed: int,
        on_result: OnResult | None = None,
    ) -> list[Result]:
        """Solves levels, `batch` of them in lockstep; results come in their order."""
        if self.kind == "peer":
            return self._ask_peer(domain, levels, budget, on_result)
        model = self.model if self.data is None else self.model_name(domain)
        options = SolveOptions(self._settings(), model, budget, batch, seed=seed)
        return options.solve(domain, levels, on_result)

    def _settings(self) -> SearchSettings:
        return SearchSettings(
            self.search,
            self.evaluation,
            self.epsilon,
            DynamicsMode(self.dynamics),
            close_on_generation=self.close_on_generation,
            weight=self.weight,
            temperature=self.temperature,
            mass=self.mass,
            confidence=self.confidence,
            hope=self.hope,
        )

    def _ask_peer(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        on_result: OnResult | None,
    ) -> list[Result]:
        planner = _find_peer(self.name)
        if planner is None:
            raise ConfigError(f"'{self.name}' is not installed.")
        results = []
        for index, level in enumerate(levels):
            results.append(planner(domain.for_grid(level), level, budget.seconds))
            if on_result is not None:
                on_result(index, results[-1])
        return results

    def _model_folder(self, domain: Domain) -> Path | None:
        folder = Path(self.model_name(domain))
        if self.model is not None and (folder / bundle.CARD).exists():
            return folder
        found = bundle.find(str(folder))
        if self.model is not None and found is None:
            raise ModelError(
                f"No model '{self.model}'. Installed: {', '.join(bundle.installed()) or 'none'}."
            )
        return found


def _find_peer(name: str) -> Peer | None:
    """The function that calls another planner, or None where it is not installed."""
    return PEERS.get(name) if baselines.is_installed() else None
