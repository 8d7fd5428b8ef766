"""Atomic file writes: content goes to a temporary file, which is then renamed."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hips.errors import HipsError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path next to `path`, which replaces `path` if the block succeeds.

    Raises:
        HipsError: the file cannot be written; names `path`, not the temporary path.
    """
    # The suffix stays last: image and array writers infer the format from it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise HipsError(f"{path}: cannot be written ({error.strerror}).") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_bytes(path: Path, content: bytes) -> None:
    """Writes `content` to `path` atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Writes UTF-8 text to `path` atomically."""
    write_bytes(path, content.encode())


def write_json(path: Path, content: Any) -> None:
    """Writes indented JSON to `path` atomically."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_text(path: Path, limit: int = 64 << 20) -> str:
    """Reads a UTF-8 text file of at most `limit` bytes."""
    try:
        if path.stat().st_size > limit:
            raise HipsError(f"{path}: larger than {limit >> 20} MiB; split the file.")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise HipsError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise HipsError(f"{path}: is a folder, not a file.") from None
    except PermissionError:
        raise HipsError(f"{path}: cannot be read (permission denied).") from None
    except UnicodeDecodeError as error:
        raise HipsError(f"{path}: not a text file (byte {error.start} is not UTF-8).") from None


def read_json(path: Path) -> Any:
    """Reads a JSON file."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise HipsError(f"{path}: not valid JSON (line {error.lineno}: {error.msg}).") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def lock(descriptor: int) -> None:
    """Locks an open file against other processes until it is closed.

    Raises:
        OSError: another process holds the lock.
    """
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
