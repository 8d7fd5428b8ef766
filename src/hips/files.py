"""Files: atomic writes, writes to devices and pipes, and bounded reads."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from hips.errors import HipsError

LONGEST_LINE = 1 << 20
"""Characters of a line beyond which a file is no text file of ours."""
BYTE_ORDER_MARK = "\ufeff"


# -- writing ---------------------------------------------------------------------------------------


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path; its content goes to `path` if the block succeeds.

    A regular file (or a new one) is replaced at once, with its permissions. Symbolic links are
    followed. Devices and pipes are never replaced: the content is written into them.

    Raises:
        HipsError: the file cannot be written; names `path`, not the temporary path.
    """
    try:
        if is_special(path):
            with _copied_into(path) as temporary:
                yield temporary
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        with _renamed_to(target) as temporary:
            yield temporary
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def _renamed_to(target: Path) -> Iterator[Path]:
    # The suffix stays last: image and array writers infer the format from it.
    owner = f"{platform.node()}-{os.getpid()}"
    temporary = target.with_name(f".{target.stem}.{owner}.partial{target.suffix}")
    _remove_leftovers(target)
    try:
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        with suppress(OSError):
            temporary.unlink()


def _remove_leftovers(target: Path) -> None:
    """Deletes what processes of this machine left of `target` when they were killed."""
    start, end = f".{target.stem}.{platform.node()}-", f".partial{target.suffix}"
    for path in target.parent.iterdir() if os.name == "posix" else ():
        if path.name.startswith(start) and path.name.endswith(end):
            process = path.name[len(start) : -len(end)]
            if process.isdecimal() and not _is_alive(int(process)):
                path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def _copied_into(target: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / f"content{target.suffix}"
        yield temporary
        with temporary.open("rb") as source, target.open("wb", buffering=0) as sink:
            shutil.copyfileobj(source, sink)


def is_special(path: Path) -> bool:
    """Whether `path` is (a link to) something other than a regular file or a folder."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def require_regular(path: Path) -> None:
    """Rejects a device or pipe where only a file makes sense: reading it may never end.

    Raises:
        HipsError: it is one.
    """
    if is_special(path):
        raise HipsError(f"{path}: is a device or a pipe; give a regular file.")


def check_distinct(written: Sequence[Path], read: Sequence[Path] = ()) -> None:
    """Rejects a file that would be written twice, or written and read. Devices and pipes may be.

    Raises:
        HipsError: there is one.
    """
    seen = {os.path.realpath(path) for path in read}
    for path in written:
        if is_special(path):
            continue
        if (place := os.path.realpath(path)) in seen:
            raise HipsError(f"{path}: is named twice on the command line; choose another file.")
        seen.add(place)


def check_writable(path: Path) -> None:
    """Rejects a target that cannot be written, before the work whose result it should hold.

    Raises:
        HipsError: it is a folder, or it or its folder is not writable.
    """
    try:
        if path.is_dir():
            raise HipsError(f"{path}: is a folder; give a file.")
        if is_special(path):
            if not os.access(path, os.W_OK):
                raise HipsError(f"{path}: cannot be written (Permission denied).")
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not os.access(target, os.W_OK):
            raise HipsError(f"{path}: cannot be written (Permission denied).")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise _unwritable(path, error) from error


def require_new(path: Path) -> None:
    """Rejects a file that has content, before the work whose result would replace it.

    Raises:
        HipsError: there is one. Devices and pipes may have content.
    """
    if path.is_file() and path.stat().st_size:
        raise HipsError(f"{path}: already exists; choose another file, or delete this one.")


def _unwritable(path: Path, error: OSError) -> HipsError:
    return HipsError(f"{path}: cannot be written ({error.strerror or error}).")


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


# -- reading ---------------------------------------------------------------------------------------


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turns the errors of reading a text file into errors for people."""
    try:
        yield
    except FileNotFoundError:
        raise HipsError(f"{name}: no such file.") from None
    except IsADirectoryError:
        raise HipsError(f"{name}: is a folder, not a file.") from None
    except PermissionError:
        raise HipsError(f"{name}: cannot be read (permission denied).") from None
    except UnicodeDecodeError as error:
        raise HipsError(f"{name}: not a text file (byte {error.start} is not UTF-8).") from None
    except OSError as error:
        raise HipsError(f"{name}: cannot be read ({error.strerror or error}).") from None


def read_text(path: Path, limit: int = 64 << 20) -> str:
    """Reads a UTF-8 text file of at most `limit` bytes; devices and pipes are cut there too."""
    with _explained(str(path)), path.open("rb") as handle:
        content = handle.read(limit + 1)
        if len(content) > limit:
            raise HipsError(f"{path}: larger than {limit >> 20} MiB; split the file.")
        return content.decode("utf-8")


def read_json(path: Path) -> Any:
    """Reads a JSON file, which must be a regular one."""
    require_regular(path)
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise HipsError(f"{path}: not valid JSON (line {error.lineno}: {error.msg}).") from None
    except (ValueError, RecursionError) as error:  # absurd numbers, absurd nesting
        raise HipsError(f"{path}: not valid JSON ({error}).") from None


def text_lines(text: str) -> Iterator[str]:
    """The lines of a text without their ends, which may be those of any system."""
    lines = io.StringIO(text.removeprefix(BYTE_ORDER_MARK), newline=None)
    return (line.removesuffix("\n") for line in lines)


def file_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text file, read as they are asked for.

    Raises:
        HipsError: the file cannot be read, is not UTF-8, or has an absurdly long line.
    """
    with _explained(str(path)), path.open("rb") as handle:
        yield from stream_lines(handle, str(path))


def stream_lines(stream: IO[bytes], name: str) -> Iterator[str]:
    """The lines of a stream of UTF-8 bytes, read as they are asked for.

    Args:
        stream: the bytes.
        name: name of the stream in error messages.
    """
    with _explained(name):
        handle = io.TextIOWrapper(stream, encoding="utf-8-sig")
        number = 0
        while line := handle.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise HipsError(f"{name}: line {number} has {LONGEST_LINE:,} or more characters.")
            yield line.removesuffix("\n")


def sha256(path: Path) -> str:
    """The SHA-256 of a regular file's bytes, in hexadecimal."""
    require_regular(path)
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def lock(descriptor: int, place: Path) -> None:
    """Locks an open file or folder against other processes until it is closed.

    Raises:
        HipsError: another process holds the lock.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise HipsError(
            f"{place}: another process is writing here; wait for it or choose another place."
        ) from None
    except OSError:  # not every file system has locks
        return


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes out of a folder; creates it, and removes it again if it stays empty.

    Raises:
        HipsError: another process has locked it, or it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY) if os.name == "posix" else None
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        if descriptor is not None:
            lock(descriptor, folder)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):
            folder.rmdir()
