"""The results file: JSON lines that survive crashes and kills."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hips import json_lines
from hips.errors import HipsError
from hips.files import require_regular

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
    """All complete lines; skips a truncated last line.

    Raises:
        HipsError: a line is no result, or the archive is damaged.
    """
    try:
        yield from _read(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise HipsError(f"{path}: the archive is damaged ({error}).") from None


def _read(path: Path) -> Iterator[dict[str, Any]]:
    require_regular(path)
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as handle:
        for number, content in json_lines.read(handle, path):  # type: ignore[arg-type]
            try:
                known = content["format"] == FORMAT
            except (KeyError, TypeError):
                raise HipsError(f"{path}, line {number}: not a result of `hips bench`.") from None
            if not known:
                raise HipsError(
                    f"{path}, line {number}: the results have format {content['format']}; "
                    f"this version reads {FORMAT}."
                )
            yield content


class Appender(json_lines.Appender):
    """Appends results of this format."""

    def write(self, content: dict[str, Any]) -> None:
        """Appends one line."""
        super().write({"format": FORMAT, **content})
