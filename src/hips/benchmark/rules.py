"""Rule sets: which models and settings the rows of a table use. Tables never mix them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hips.benchmark.variants import Family, Variant
from hips.errors import ConfigError
from hips.planner.settings import knobs


@dataclass(frozen=True, slots=True)
class Rules:
    """A rule set, from the catalogue.

    Attributes:
        name: name on the command line and in results.
        label: name in reports.
        about: one sentence for the reader.
        settings: named set of settings that every row takes; None for the model's own.
        free: settings that rows may vary although the named set fixes them.
        models: rows use the models `DOMAIN-MODELS-SEED`; None for the domain's own.
        rebuild: command that makes such a model, with `{domain}` and `{seed}`.
        open: whether rows may bring models and named sets of their own.
    """

    name: str
    label: str
    about: str = ""
    settings: str | None = None
    free: tuple[str, ...] = ()
    models: str | None = None
    rebuild: str = ""
    open: bool = False

    @staticmethod
    def from_json(name: str, content: Mapping[str, Any]) -> Rules:
        """The rule set of a catalogue entry."""
        try:
            free = tuple(content.get("free", ()))
            return Rules(name, **{"label": name, **content, "free": free})
        except TypeError as error:
            raise ConfigError(f"Rules '{name}' of the catalogue are invalid ({error}).") from None

    def admits(self, only: str | None) -> bool:
        """Whether what belongs to the rule set `only` (None: to any) appears under these rules."""
        return only in (None, self.name)

    def apply(self, variant: Variant) -> Variant:
        """The variant under these rules.

        Raises:
            ConfigError: the variant breaks the rules.
        """
        if self.open:
            return variant
        if fault := self._fault(variant):
            raise ConfigError(
                f"Method '{variant.name}' sets {fault}, which {self.label} do not allow; rule "
                "sets do not mix in a table."
            )
        family = None if self.models is None else Family(self.models, self.rebuild)
        return replace(variant, named=self.settings, family=family)

    def _fault(self, variant: Variant) -> str:
        """What the variant sets against the rules; empty if nothing."""
        if variant.named is not None:
            return f"the settings '{variant.named}'"
        if variant.model_suffix is not None:
            return f"the model '{variant.model_suffix}'"
        if self.settings is None:
            return ""
        for name, value in variant.settings.items():
            fixed = None if name in self.free else knobs()[name].paper
            if fixed not in (None, value):
                return f"{name} = {value}"
        return ""


FULL = Rules("full", "full strength")
"""The rules of catalogues that declare none."""
