"""The registry of methods: built in, from installed packages, and from plug-ins.

A method is one small module that wires parts into a solver and registers itself.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points

from hips import domains, parts
from hips.methods.base import Execution, Method, Wiring
from hips.registry import Registry

ENTRY_POINT_GROUP = "hips.methods"
SHIPPED = ("hips_eps", "hips", "phs_star", "bc", "low_level", "lama")
"""Modules of the built-in methods, in display order."""
_REGISTRY: Registry[Method] = Registry("method")
_loaded = False


def register(method: Method) -> Method:
    """Registers a method by its name."""
    return _REGISTRY.register(method.name)(method)


def get(name: str) -> Method:
    """The method called `name`."""
    _load_installed()
    return _REGISTRY.get(name)


def names() -> tuple[str, ...]:
    """Names of all registered methods."""
    _load_installed()
    return _REGISTRY.names()


def _load_installed() -> None:
    """Registers the built-in methods and those of installed packages, once."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    for name in SHIPPED:
        importlib.import_module(f"{__name__}.{name}")
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        entry.load()


def load_everything() -> None:
    """Loads all registries, so that installed plug-ins can see each other."""
    domains.names()
    parts.names()
    _load_installed()


__all__ = [
    "Execution",
    "Method",
    "Wiring",
    "get",
    "load_everything",
    "names",
    "register",
]
