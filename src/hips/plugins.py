"""Plug-ins: user's Python files that register domains, parts or methods on import."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from hips.errors import HipsError

_LOADED: list[Path] = []


def load(path: Path) -> None:
    """Imports a plug-in file; loading it again does nothing.

    Raises:
        HipsError: the file is missing or fails to import.
    """
    path = path.resolve()
    if path in _LOADED:
        return
    module_name = f"hips_plugin_{path.stem}"
    specification = importlib.util.spec_from_file_location(module_name, path)
    if not path.is_file() or specification is None or specification.loader is None:
        raise HipsError(f"{path}: no such Python file; a plug-in is one .py file.")
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module  # dataclasses look up their module during import
    try:
        specification.loader.exec_module(module)
    except HipsError:
        raise
    except Exception as error:
        raise HipsError(f"{path}: the plug-in failed to load ({error!r}).") from error
    _LOADED.append(path)


def loaded() -> tuple[Path, ...]:
    """The plug-ins loaded so far; worker processes load them as well."""
    return tuple(_LOADED)
