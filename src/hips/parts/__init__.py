"""The registry of parts: built in, from installed packages, and from plug-ins.

Each part is one folder: `config` (hyperparameters), `network` (torch), `train` (stages), `graphs`
(exported graphs), `adapter` (the planner's interface: arrays in, arrays out), `score` (scores for
the card). The folder's class, derived from `Part`, ties them together and imports them lazily.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from typing import TypeVar

from hips.registry import Registry
from hips.training.contract import Part

SHARED = "blocks"
P = TypeVar("P", bound=type[Part])


def _modules() -> list[str]:
    """Folders of the built-in parts."""
    found = (module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    return [f"{__name__}.{name}" for name in found if name != SHARED]


_REGISTRY: Registry[Part] = Registry("part", _modules, "hips.parts")


def register(cls: P) -> P:
    """Class decorator that registers a part by its name."""
    _REGISTRY.register(cls.name)(cls())
    return cls


def get(name: str) -> Part:
    """The part called `name`."""
    return _REGISTRY.get(name)


def names() -> tuple[str, ...]:
    """Names of all registered parts, in an order independent of imports."""
    return tuple(sorted(_REGISTRY.names()))


def known(chosen: Iterable[str] | None = None) -> dict[str, Part]:
    """Parts by name: those `chosen`, or all."""
    return {name: get(name) for name in (names() if chosen is None else chosen)}


def defaults() -> tuple[str, ...]:
    """Names of the parts that are trained by default."""
    return tuple(name for name in names() if get(name).default)


__all__ = ["Part", "defaults", "get", "known", "names", "register"]
