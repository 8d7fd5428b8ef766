"""Plug-ins: user's Python files that register domains, parts or methods on import."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hips.errors import HipsError, is_interrupt
from hips.files import read_text, write_text

_LOADED: dict[Path, str] = {}
"""The text of every plug-in, as it was when it was loaded."""


def load(path: Path) -> None:
    """Imports a plug-in file; loading it again does nothing.

    Raises:
        HipsError: the file is missing or fails to import.
    """
    path = path.resolve()
    if path in _LOADED or _is_shipped(path):
        return
    module_name = f"hips_plugin_{path.stem}"
    specification = importlib.util.spec_from_file_location(module_name, path)
    if not path.is_file() or specification is None or specification.loader is None:
        raise HipsError(f"{path}: no such Python file; a plug-in is one .py file.")
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module  # dataclasses look up their module during import
    text = read_text(path)
    try:
        specification.loader.exec_module(module)
    except (HipsError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit among them
        raise HipsError(f"{path}: the plug-in failed to load ({error!r}).") from error
    _LOADED[path] = text


@contextmanager
def blamed(passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Names the plug-in and the line that raised an unexpected error.

    Nobody but the command line itself may end the program: `sys.exit(0)` in a plug-in would look
    like success.

    Args:
        passing: errors that are expected, beside the package's own.
    """
    expected: tuple[type[BaseException], ...] = (
        HipsError,
        KeyboardInterrupt,
        MemoryError,
        *passing,
    )
    try:
        yield
    except expected:
        raise
    except (Exception, SystemExit) as error:
        if is_interrupt(error):
            raise
        if (place := _place_in_plugin(error)) is not None:
            raise HipsError(f"{place}: the plug-in failed ({error!r}).") from error
        if isinstance(error, SystemExit):
            raise HipsError(f"Something tried to end the program ({error!r}).") from error
        if _LOADED and not isinstance(error, OSError):
            raise HipsError(_suspected(error)) from error
        raise


def _suspected(error: BaseException) -> str:
    """What to say about an error outside all plug-ins: most come from what a plug-in returned."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    names = " and ".join(path.name for path in _LOADED)
    return (
        f"{error!r} at {Path(where.filename).name}, line {where.lineno}, with the plug-in {names}. "
        "Most likely a plug-in returns something that its contract forbids: "
        "`hips.domains.check_domain` checks a domain. If it also happens without plug-ins, it is a "
        "fault of this program."
    )


def _place_in_plugin(error: BaseException) -> str | None:
    """The innermost line of a plug-in that an error came through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename) in _LOADED:
            return f"{frame.filename}, line {frame.lineno}, in {frame.name}"
    return None


def _is_shipped(path: Path) -> bool:
    """Whether the plug-in came to this process as text: from another machine, or from this one."""
    same_name = [text for one, text in _LOADED.items() if one.name == path.name]
    if not path.is_file():
        return bool(same_name)
    return bool(same_name) and read_text(path) in same_name


def sources() -> dict[str, str]:
    """The text of the plug-ins loaded so far by file name, for machines that lack the files."""
    return {path.name: text for path, text in _LOADED.items()}


def load_sources(texts: Mapping[str, str]) -> None:
    """Loads plug-ins from their text; those loaded already are skipped."""
    for name, text in texts.items():
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        if any(path.name == name for path in _LOADED):
            continue
        folder = Path(tempfile.gettempdir()) / f"hips-plugins-{os.getuid()}-{digest}"
        folder.mkdir(mode=0o700, exist_ok=True)
        write_text(folder / name, text)
        load(folder / name)


def loaded() -> tuple[Path, ...]:
    """The plug-ins loaded so far; worker processes load them as well."""
    return tuple(_LOADED)
