"""Variants: methods with settings, named as in tables and results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hips import methods
from hips.domains.base import Domain
from hips.errors import ConfigError, HipsError
from hips.methods.base import Execution, Method
from hips.methods.choosing import Choice, complete_settings
from hips.models import bundle
from hips.models.card import Card, read_card
from hips.planner.components import Components
from hips.planner.settings import Settings


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one recipe and several training seeds: `DOMAIN-SUFFIX-SEED`.

    Attributes:
        suffix: the middle of their names.
        rebuild: command that makes one, with `{domain}` and `{seed}`.
    """

    suffix: str
    rebuild: str = ""

    def members(self, domain: Domain) -> list[str]:
        """Suffixes of the installed models, by seed."""
        prefix = f"{domain.name}-{self.suffix}-"
        ends = [n.removeprefix(prefix) for n in bundle.installed() if n.startswith(prefix)]
        seeds = sorted(int(end) for end in ends if end.isdecimal())
        return [f"{self.suffix}-{seed}" for seed in seeds]

    def absence(self, domain: Domain) -> str:
        """What is missing, and how to make it."""
        how = self.rebuild.format(domain=domain.name, seed=0)
        return f"no model '{domain.name}-{self.suffix}-SEED' is installed" + (
            f"; rebuild one with `{how}` and put it into the folder {bundle.SEARCH_VARIABLE}"
            if how
            else ""
        )


@dataclass(frozen=True, slots=True)
class Variant:
    """A method with some of its settings fixed.

    Attributes:
        name: name in results.
        label: name in reports.
        method: name of the method.
        settings: settings that differ from the model's card.
        named: a named set of settings, such as `paper`, overridden by `settings`.
        model: name or folder of a model; None for the domain's own.
        model_suffix: selects the model `DOMAIN-SUFFIX` if `model` is not given; part of the
            configuration in any case.
        family: stands for one variant per model of a family.
        rules: the only rule set to which the variant belongs; None for any.
    """

    name: str
    label: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    named: str | None = None
    model: str | None = None
    model_suffix: str | None = None
    family: Family | None = None
    rules: str | None = None

    @staticmethod
    def from_json(name: str, content: Mapping[str, Any]) -> Variant:
        """The variant of a catalogue entry."""
        try:
            variant = Variant(name, **{"label": name, "method": name, **content})
            Settings(**variant.settings)
        except TypeError as error:
            raise ConfigError(f"Method '{name}' of the catalogue is invalid ({error}).") from None
        return variant

    @staticmethod
    def of_method(method: Method) -> Variant:
        """A method with its default settings."""
        return Variant(method.name, method.label, method.name)

    def configuration(self, domain: Domain) -> str:
        """Everything that determines the search, as text: equal texts mean equal searches."""
        text = self._method.spell(self.resolved(domain))
        return text if self.model_suffix is None else f"{text} model={self.model_suffix}"

    def resolved(self, domain: Domain) -> Settings:
        """Complete settings on `domain`."""
        choice = Choice(self.method, Settings(**self.settings), self.named)
        card = self._card(domain)
        return complete_settings(domain, choice, self._method, card, Components())

    def members(self, domain: Domain) -> tuple[Variant, ...]:
        """One variant per installed model of the family; the variant itself without a family."""
        if self.family is None or self.model is not None or not self._method.parts:
            return (dataclasses.replace(self, family=None),)
        return tuple(
            dataclasses.replace(self, family=None, model_suffix=suffix)
            for suffix in self.family.members(domain)
        )

    def missing(self, domain: Domain) -> str:
        """Why the variant cannot run on `domain`; empty if it can."""
        method = self._method
        if obstacle := method.obstacle(domain):
            return obstacle
        if not method.parts:
            return ""
        if self.family is not None and self.model is None:
            found = self.members(domain)
            return found[0].missing(domain) if found else self.family.absence(domain)
        card = self._card(domain)
        if card is None:
            return f"no model '{self.model_name(domain)}' is installed"
        absent = [part for part in method.parts if part not in card.parts]
        if absent:
            return f"the model '{self.model_name(domain)}' has no part '{absent[0]}'"
        return card.misfit(domain) or ""

    def model_name(self, domain: Domain) -> str:
        """Name or folder of the model used on `domain`."""
        own = domain.name if self.model_suffix is None else f"{domain.name}-{self.model_suffix}"
        return self.model or own

    def model_hash(self, domain: Domain) -> str | None:
        """Fingerprint of the model used on `domain`."""
        card = self._card(domain)
        return None if card is None else card.fingerprint()

    def choice(self, domain: Domain, batch: int, fingerprint: str | None = None) -> Choice:
        """How the variant solves levels of `domain`.

        Args:
            domain: the domain.
            batch: levels in lockstep.
            fingerprint: hash that the model must have; None accepts any.
        """
        own_model = self.model is None and self.model_suffix is None
        return Choice(
            self.method,
            Settings(**self.settings),
            self.named,
            None if own_model or not self._method.parts else self.model_name(domain),
            Execution(batch),
            fingerprint,
        )

    def with_model(self, model: str) -> Variant:
        """The same with another existing model; unchanged if it needs no model."""
        if self._method.parts:
            bundle.require(model)
            return dataclasses.replace(self, model=model)
        return self

    @property
    def _method(self) -> Method:
        return methods.get(self.method)

    def _card(self, domain: Domain) -> Card | None:
        """The card of the model, if the method uses one and it is installed."""
        if not self._method.parts:
            return None
        folder: Path | None = bundle.find(self.model_name(domain))
        return None if folder is None else read_card(folder)


def check(variant: Variant) -> None:
    """Rejects a variant with an unknown method or setting."""
    method = methods.get(variant.method)
    unknown = [name for name in variant.settings if name not in method.settings]
    if unknown:
        raise HipsError(
            f"Method '{variant.name}' of the catalogue sets '{unknown[0]}', which "
            f"'{variant.method}' does not have."
        )
