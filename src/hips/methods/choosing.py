"""Which method, model and settings solve a level: as wanted, else the best that fit."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, replace
from pathlib import Path

from hips import methods
from hips.domains.base import Domain
from hips.errors import ConfigError, ModelError
from hips.methods.base import Execution, Method
from hips.models import bundle as bundles
from hips.models.bundle import Bundle
from hips.models.card import Card, read_card
from hips.planner.components import Components
from hips.planner.evaluations import resolve
from hips.planner.settings import Settings
from hips.training.verdict import useless_parts

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
        remedy = (
            "Put it, or the run that makes it, into a folder that every node sees under this path."
            if isinstance(name, Path)
            else "Install the same model on every node, or put it into a shared folder that "
            f"{bundles.SEARCH_VARIABLE} names on every node."
        )
        raise ModelError(
            f"The model '{name}' on the node {platform.node()} ({here}) is not that of the machine "
            f"that started the command ({there}). {remedy}"
        )


def choose_method(domain: Domain, choice: Choice, card: Card | None, own: Components) -> Method:
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


def note_left_out(method: Method, choice: Choice, card: Card | None, own: Components) -> str:
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
    if choice.method is None:
        _check_default_has(method, choice.settings)
    return method.resolve(domain, choice.settings.completed(known), choice.named, card)


def _check_default_has(method: Method, wanted: Settings) -> None:
    """Rejects a setting that the method chosen by default lacks; names methods that have it."""
    if lacking := method.lacking(wanted):
        others = [m.name for m in map(methods.get, methods.names()) if lacking[0] in m.settings]
        raise ConfigError(
            f"The default here is the method '{method.name}', which has no setting '{lacking[0]}'. "
            f"Name one that has it with --method: {', '.join(others)}."
        )
