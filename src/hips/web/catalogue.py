"""What the page can offer: registered domains, methods and settings, as JSON."""

from __future__ import annotations

import math
import typing
from dataclasses import asdict
from typing import Any

from hips import domains, methods
from hips._version import __version__
from hips.domains.base import Domain
from hips.methods.base import Method
from hips.models import bundle
from hips.models.card import read_card
from hips.planner.settings import Knob, Settings, knobs
from hips.web.limits import Limits


def describe(limits: Limits) -> dict[str, Any]:
    """Everything the page needs to know before the first request."""
    known = {name: _method(methods.get(name)) for name in methods.names()}
    found = [_domain(domains.create(name)) for name in domains.names()]
    found.sort(key=lambda domain: _place(domain, known))
    return {
        "version": __version__,
        "domains": found,
        "methods": known,
        "settings": {name: _knob(name, knob) for name, knob in knobs().items()},
        "limits": {
            "side": limits.side,
            "expansions": limits.expansions,
            "seconds": limits.seconds,
            "nodes": limits.nodes,
        },
    }


def _place(domain: dict[str, Any], known: dict[str, dict[str, Any]]) -> tuple[bool, bool]:
    """The page opens with the first domain: one with a model, best with an example to look at."""
    learned = any(known[name]["learned"] for name in domain["methods"])
    return not learned, domain["example"] is None


def _domain(domain: Domain) -> dict[str, Any]:
    spec = domain.spec
    about = (type(domain).__doc__ or "").strip().splitlines()
    return {
        "name": domain.name,
        "about": about[0] if about else "",
        "variants": list(domain.variants),
        "height": spec.height,
        "width": spec.width,
        "symbols": list(spec.symbols),
        "actions": list(spec.actions),
        "methods": usable_methods(domain),
        "example": None if domain.example is None else asdict(domain.example),
    }


def usable_methods(domain: Domain) -> list[str]:
    """Names of the methods that can run on a domain with its installed model."""
    folder = bundle.find(domain.name)
    parts = set() if folder is None else set(read_card(folder).parts)
    found = (methods.get(name) for name in methods.names())
    return [m.name for m in found if set(m.parts) <= parts and not m.obstacle(domain)]


def _method(method: Method) -> dict[str, Any]:
    return {
        "label": method.label,
        "about": method.description,
        "settings": list(method.settings),
        "learned": bool(method.parts),
        "contrast": method.contrast,
    }


def _knob(name: str, knob: Knob) -> dict[str, Any]:
    hint = typing.get_args(typing.get_type_hints(Settings)[name])[0]
    return {
        "kind": hint.__name__,
        "help": knob.help,
        "default": knob.default,
        "low": knob.low if math.isfinite(knob.low) else None,
        "high": knob.high if math.isfinite(knob.high) else None,
        "choices": None if knob.choices is None else list(knob.choices()),
        "text": knob.read is not None,
    }
