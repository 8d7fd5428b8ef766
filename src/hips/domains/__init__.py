"""The registry of domains: the four that ship, installed entry points, and plug-in files."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from dataclasses import fields, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hips.domains._checking import check_domain
from hips.domains.base import (
    QUALITIES,
    Actions,
    Bools,
    Domain,
    Grid,
    Grids,
    GridSpec,
    Image,
    Preset,
    ScalarDomain,
    Scores,
    Symmetry,
    parse_quality,
    replay,
)
from hips.errors import ConfigError, HipsError
from hips.registry import Registry

ENTRY_POINT_GROUP = "hips.domains"
_REGISTRY: Registry[type[Domain]] = Registry("domain")
_PLUGINS: list[Path] = []
_loaded = False


def register(name: str) -> Any:
    """Class decorator that makes a domain known by `name`."""

    def add(cls: type[Domain]) -> type[Domain]:
        cls.name = name
        return _REGISTRY.register(name)(cls)

    return add


def create(name: str, variant: str | None = None, **parameters: Any) -> Domain:
    """The domain `name`, with a variant's parameters and then `parameters` on top.

    >>> create("sliding_tiles", height=3, width=3).spec.shape
    (3, 3)
    """
    _load_installed()
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
    """Names of all known domains."""
    _load_installed()
    return _REGISTRY.names()


def load_plugin(path: Path) -> None:
    """Imports a Python file that registers domains of its own; a second time does nothing."""
    path = path.resolve()
    if path in _PLUGINS:
        return
    module_name = f"hips_plugin_{path.stem}"
    specification = importlib.util.spec_from_file_location(module_name, path)
    if not path.is_file() or specification is None or specification.loader is None:
        raise HipsError(f"{path}: no such Python file; a plug-in is one .py file.")
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module  # dataclasses look their module up while it runs
    try:
        specification.loader.exec_module(module)
    except HipsError:
        raise
    except Exception as error:
        raise HipsError(f"{path}: the plug-in failed to load ({error!r}).") from error
    _PLUGINS.append(path)


def plugins() -> tuple[Path, ...]:
    """The plug-in files loaded so far; worker processes load them as well."""
    return tuple(_PLUGINS)


def _load_installed() -> None:
    """Registers the shipped domains and those of installed packages, once."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        entry.load()


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
    "load_plugin",
    "names",
    "parse_quality",
    "plugins",
    "register",
    "replay",
]
