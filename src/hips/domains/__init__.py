"""The registry of domains: built in, from installed packages, and from plug-ins."""

from __future__ import annotations

import pkgutil
from dataclasses import fields, is_dataclass
from typing import Any

from hips.arrays import Actions, Bools, Grid, Grids, Image, Scores
from hips.domains._checking import check_domain
from hips.domains.base import (
    QUALITIES,
    Domain,
    GridSpec,
    Preset,
    ScalarDomain,
    Symmetry,
    parse_quality,
    replay,
)
from hips.errors import ConfigError, ContractError
from hips.registry import Registry


def _modules() -> list[str]:
    """Modules of the built-in domains."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return [f"{__name__}.{name}" for name in found if not name.startswith("_")]


_REGISTRY: Registry[type[Domain]] = Registry("domain", _modules, "hips.domains")


def register(name: str) -> Any:
    """Class decorator that registers a domain as `name`."""

    def add(cls: type[Domain]) -> type[Domain]:
        if not (isinstance(cls, type) and issubclass(cls, Domain)):
            raise ContractError(f"'{name}' is no domain: {cls!r} is not a subclass of Domain.")
        cls.name = name
        return _REGISTRY.register(name)(cls)

    return add


def create(name: str, variant: str | None = None, **parameters: Any) -> Domain:
    """Creates the domain `name` with a variant's parameters, overridden by `parameters`.

    >>> create("sliding_tiles", height=3, width=3).spec.shape
    (3, 3)
    """
    cls = _REGISTRY.get(name)
    chosen: dict[str, Any] = {}
    if variant is not None and variant != "default":
        if variant not in cls.variants:
            available = ", ".join(["default", *cls.variants])
            raise ConfigError(f"'{name}' has no variant '{variant}'. Available: {available}.")
        chosen.update(cls.variants[variant])
    chosen.update(parameters)
    allowed: list[str] = [field.name for field in fields(cls)] if is_dataclass(cls) else []
    unknown = [key for key in chosen if key not in allowed]
    if unknown:
        raise ConfigError(
            f"'{name}' has no parameter '{unknown[0]}'. Available: {', '.join(allowed) or 'none'}."
        )
    return cls(**chosen)


def names() -> tuple[str, ...]:
    """Names of all registered domains."""
    return _REGISTRY.names()


__all__ = [
    "QUALITIES",
    "Actions",
    "Bools",
    "Domain",
    "Grid",
    "GridSpec",
    "Grids",
    "Image",
    "Preset",
    "ScalarDomain",
    "Scores",
    "Symmetry",
    "check_domain",
    "create",
    "names",
    "parse_quality",
    "register",
    "replay",
]
