"""Files of Sokoban levels: which lines form a level, and its title.

A level is a run of lines that look like a board. Text in between names levels: a line `Title: …`
right below a board names that board; any other `Title: …`, comment (`; …`) or line of text names
the next one. Other lines `Key: …` and text right below a board are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise

from hips.domains.defaults import SEPARATOR, shortened
from hips.domains.records import Level
from hips.domains.sokoban.levels import (
    BLANKS,
    DIGITS,
    GLYPHS,
    MAX_TEXT_SIZE,
    ROW_SEPARATOR,
    read_level,
)
from hips.errors import LevelError

_BOARD_START = re.compile(r"(?:[ \-_|0-9]|(?<=[0-9])\()*#")
_BOARD_CHARACTERS = GLYPHS + BLANKS + ROW_SEPARATOR + DIGITS
_WORD = re.compile(r"[^\W\d_]{2}|;|:")
_KEY = re.compile(r"([A-Za-z][A-Za-z \-]{0,30}):(.*)")
TITLE = "title"


@dataclass(slots=True)
class _Block:
    """The numbered lines of a board and its title."""

    lines: list[tuple[int, str]] = field(default_factory=list)
    title: str = ""

    def read(self) -> Level | LevelError:
        """The level, or why it cannot be read."""
        try:
            return Level(read_level(self.lines), self.title)
        except LevelError as error:
            return error


def scan(lines: Iterable[str]) -> Iterator[Level | LevelError]:
    """The levels of a text, each at its own size."""
    for block in _blocks(lines):
        yield block.read()


def _blocks(lines: Iterable[str]) -> Iterator[_Block]:
    """Boards with their titles."""
    block, is_open, attached, coming = _Block(), False, False, ""
    for number, (line, following) in enumerate(pairwise(chain(lines, [""])), start=1):
        if _is_board(line) or (is_open and _is_damaged(line, following)):
            if not is_open:
                if block.lines:
                    yield block
                block, is_open, coming = _Block(title=coming), True, ""
            if len(block.lines) <= MAX_TEXT_SIZE:
                block.lines.append((number, line))
            continue
        attached = (is_open or attached) and bool(line.strip())
        is_open = False
        title, is_explicit = _title(line)
        if title and attached and is_explicit:
            block.title = title
        elif title and not attached:
            coming = title
    if block.lines:
        yield block


def _title(line: str) -> tuple[str, bool]:
    """The title that a line of text gives, if any, and whether it says that it is one."""
    text = line.strip()
    pair = _KEY.fullmatch(text)
    if pair is not None:
        is_title = pair.group(1).strip().lower() == TITLE
        return shortened(pair.group(2).strip()) if is_title else "", is_title
    return shortened(text.lstrip(SEPARATOR).strip().strip("=-'\"")), False


def _is_board(line: str) -> bool:
    return bool(_BOARD_START.match(line)) or ("#" in line and not line.strip(_BOARD_CHARACTERS))


def _is_damaged(line: str, following: str) -> bool:
    """Whether an odd line between two rows is a damaged row: it does not look like words."""
    return bool(line.strip()) and _is_board(following) and not _WORD.search(line)
