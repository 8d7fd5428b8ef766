"""The results file: JSON lines that survive crashes and kills."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hips.errors import HipsError
from hips.files import lock

FORMAT = 3
FILE = "runs.jsonl"
PACKED = "runs.jsonl.gz"


def find(folder: Path) -> Path:
    """The results of a folder, plain or compressed.

    Raises:
        HipsError: the folder has no results.
    """
    for path in (folder / FILE, folder / PACKED, folder):
        if path.is_file():
            return path
    raise HipsError(f"{folder}: no results here ({FILE} or {PACKED}); run `hips bench` first.")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """All complete lines; skips a truncated last line."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                content = json.loads(line)
                known = content["format"] == FORMAT
            except (ValueError, KeyError, TypeError):
                raise HipsError(f"{path}, line {number}: not a result of `hips bench`.") from None
            if not known:
                raise HipsError(
                    f"{path}, line {number}: the results have format {content['format']}; "
                    f"this version reads {FORMAT}."
                )
            yield content


class Appender:
    """Appends lines to a file, one write each; only one process may do so at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise HipsError(f"{path}: cannot be written ({error.strerror}).") from error

    def __enter__(self) -> Self:
        try:
            lock(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise HipsError(
                f"{self.path}: another benchmark is writing here; wait for it or choose "
                "another folder with --out."
            ) from None
        self._drop_half_line()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def write(self, content: dict[str, Any]) -> None:
        """Appends one line and hands it to the operating system before returning."""
        data = json.dumps({"format": FORMAT, **content}, ensure_ascii=False).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise HipsError(
                f"{self.path}: cannot be written ({error.strerror}). All results so far are kept; "
                "free some space and repeat the command to continue."
            ) from error
        self.written += 1

    def _drop_half_line(self) -> None:
        """Removes a truncated last line."""
        if not self.path.is_file():
            return
        end = os.fstat(self._descriptor).st_size
        while end and os.pread(self._descriptor, 1, end - 1) != b"\n":
            end -= 1
        os.ftruncate(self._descriptor, end)
