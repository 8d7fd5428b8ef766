"""Plug-ins: user's Python files that register domains, parts or methods on import."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
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
_SHIPPED: dict[Path, str] = {}
"""The same of those that came from another process, by their paths there."""


def load(path: Path) -> None:
    """Imports a plug-in file; loading it again, or a copy of it, does nothing.

    Raises:
        HipsError: the file is missing or fails to import.
    """
    if path in _SHIPPED:  # by the name that it has elsewhere, whatever that is here
        return
    path = path.resolve()
    if path in _LOADED:
        return
    if not path.is_file() or path.suffix != ".py":
        raise HipsError(f"{path}: no such Python file; a plug-in is one .py file.")
    text = read_text(path)
    if not any(path.name == one.name and text == known for one, known in _LOADED.items()):
        _import(path, text)


def _import(path: Path, text: str) -> None:
    # Files of the same name may differ, so the module's name depends on the content, too.
    module_name = f"hips_plugin_{path.stem}_{_digest(text)}"
    specification = importlib.util.spec_from_file_location(module_name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module  # dataclasses look up their module during import
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


def sources() -> dict[Path, str]:
    """The text of the plug-ins loaded so far by their paths, for machines that lack the files."""
    return dict(_LOADED)


def load_sources(texts: Mapping[Path, str]) -> None:
    """Loads plug-ins of another process from their text; those loaded already are skipped."""
    for path, text in texts.items():
        if _SHIPPED.get(path) == text:
            continue
        copy = _private_folder(_digest(text)) / path.name
        write_text(copy, text)
        load(copy)
        _SHIPPED[path] = text


def _private_folder(digest: str) -> Path:
    """A folder for copies that only this user can write to; compiled code is kept beside them."""
    folder = Path(tempfile.gettempdir()) / f"hips-plugins-{os.getuid()}-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
        return folder
    return Path(tempfile.mkdtemp(prefix="hips-plugins-"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def loaded() -> tuple[Path, ...]:
    """The plug-ins loaded so far; worker processes load them as well."""
    return tuple(_LOADED)
