"""The registry of methods: built in, from installed packages, and from plug-ins.

A method is one small module that wires parts into a solver and registers itself.
"""

from __future__ import annotations

from hips.methods.base import Execution, Method, Wiring
from hips.registry import Registry

SHIPPED = (
    "hips_eps",
    "hips",
    "phs_star",
    "sqrt_lts",
    "sqrt_lts_eps",
    "ksubs",
    "ksubs_eps",
    "adasubs",
    "adasubs_eps",
    "guided",
    "portfolio",
    "bc",
    "cql",
    "dt",
    "low_level",
    "lama",
)
"""Modules of the built-in methods, in display order."""


def _modules() -> list[str]:
    return [f"{__name__}.{name}" for name in SHIPPED]


_REGISTRY: Registry[Method] = Registry("method", _modules, "hips.methods")


def register(method: Method) -> Method:
    """Registers a method by its name."""
    return _REGISTRY.register(method.name)(method)


def get(name: str) -> Method:
    """The method called `name`."""
    return _REGISTRY.get(name)


def names() -> tuple[str, ...]:
    """Names of all registered methods."""
    return _REGISTRY.names()


__all__ = [
    "Execution",
    "Method",
    "Wiring",
    "get",
    "names",
    "register",
]
