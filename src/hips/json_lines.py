"""Files of JSON lines that stay valid through crashes, kills and full disks.

Every line goes to the operating system in one piece before the next result is awaited. What a kill
cuts off is at most a half last line, which readers skip and the next writer removes.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from hips.errors import HipsError
from hips.files import is_special, lock

BLOCK = 1 << 16
"""Bytes to look at together."""


def read(handle: IO[bytes], path: Path) -> Iterator[tuple[int, Any]]:
    """Number and content of all complete lines; skips a truncated last line.

    Raises:
        HipsError: a line is not JSON.
    """
    for number, line in enumerate(handle, start=1):
        if not line.endswith(b"\n"):
            return
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            raise HipsError(f"{path}, line {number}: not a result, but damaged JSON.") from None
        yield number, content


class Appender:
    """Appends lines to a file; only one process may do so at a time.

    Devices and pipes are written to directly. Use it as a context manager.

    Args:
        path: the file; created with its folders if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = 0
        self._special = is_special(path)
        flags = os.O_WRONLY if self._special else os.O_RDWR | os.O_CREAT | os.O_APPEND
        try:
            if not self._special:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, flags, 0o644)
        except OSError as error:
            raise HipsError(f"{path}: cannot be written ({error.strerror}).") from error

    def __enter__(self) -> Self:
        if self._special:
            return self
        try:
            lock(self._descriptor, self.path)
        except HipsError:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def write(self, content: dict[str, Any]) -> None:
        """Appends one line and hands it to the operating system before returning.

        Raises:
            HipsError: the file cannot be written; it then ends with the last complete line.
        """
        data = json.dumps(content, ensure_ascii=False).encode() + b"\n"
        if not (self._special or self.written):
            self._drop_half_line()
        end = 0 if self._special else os.fstat(self._descriptor).st_size
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            if not self._special:
                os.ftruncate(self._descriptor, end)
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            advice = "free some space and repeat" if is_full else "repeat"
            raise HipsError(
                f"{self.path}: cannot be written ({error.strerror}). All results so far are kept; "
                f"{advice} the command to continue."
            ) from error
        self.written += 1

    def _drop_half_line(self) -> None:
        """Removes a truncated last line.

        This waits for the first line to write: until then the file may turn out not to be ours.

        Raises:
            HipsError: the last line is no truncated result.
        """
        size = end = os.fstat(self._descriptor).st_size
        block = b""
        while end and b"\n" not in block:
            begin = max(0, end - BLOCK)
            block, end = os.pread(self._descriptor, end - begin, begin), begin
        end += block.rfind(b"\n") + 1
        if end < size and os.pread(self._descriptor, 1, end) != b"{":
            raise HipsError(f"{self.path}: ends with something that is no result.")
        os.ftruncate(self._descriptor, end)
