"""TSPLIB instances and tours.

Nodes have integer coordinates `column row`, counted from 0 at the top left; the first node is the
start. TSPLIB has no field for the grid's size: it is written to and read from the comment, and
defaults to the domain's size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from hips.arrays import Actions, Grid
from hips.domains.tsp.kernels import (
    AGENT,
    CITY,
    COLUMN_STEP,
    FLOOR,
    ROW_STEP,
    START,
    VISITED,
)
from hips.domains.tsp.levels import MAX_SIZE, MIN_SIZE
from hips.errors import ConfigError, LevelError

SECTION = "NODE_COORD_SECTION"
END = "EOF"
WEIGHT_TYPES = ("EUC_2D", "MAN_2D")
MOST_LINES = 2 * MAX_SIZE * MAX_SIZE
"""Lines of an instance beyond which further ones are dropped: it has too many nodes anyway."""
_NAME = re.compile(r"[A-Z][A-Z0-9_]+")
_GRID_COMMENT = re.compile(r"grid (\d{1,4})\b")
_WORD = re.compile(r"\S+")


def looks_like(line: str) -> bool:
    """Whether the first line of a file is a TSPLIB keyword."""
    name, value = _keyword(line)
    return bool(name) and (value is not None or name == SECTION)


def _keyword(line: str) -> tuple[str, str | None]:
    """Name and value of a line `NAME : value`; an empty name if it is none.

    Takes linear time, whatever the line.
    """
    name, colon, value = line.partition(":")
    name = name.strip()
    return name if _NAME.fullmatch(name) else "", value.strip() if colon else None


# -- reading ---------------------------------------------------------------------------------------


def scan_instances(lines: Iterable[str], default_size: int) -> Iterator[Grid | LevelError]:
    """The instances of a text, each terminated by `EOF` (optional for the last)."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(chain(lines, [END]), start=1):
        if line.strip() != END:
            if line.strip() and len(block) < MOST_LINES:
                block.append((number, line))
            continue
        if block:
            try:
                yield _parse_instance(block, default_size)
            except LevelError as error:
                yield error
        block = []


def _parse_instance(lines: Sequence[tuple[int, str]], default_size: int) -> Grid:
    header: dict[str, tuple[int, str]] = {}
    for place, (number, line) in enumerate(lines):
        name, value = _keyword(line)
        if not name:
            raise LevelError("expected 'KEYWORD : value' before the coordinates", number, 1)
        if name == SECTION:
            return _parse_nodes(header, lines[place:], default_size)
        header[name] = (number, value or "")
    raise LevelError(f"the file ends before {SECTION}", lines[-1][0], len(lines[-1][1]))


def _parse_nodes(
    header: dict[str, tuple[int, str]], lines: Sequence[tuple[int, str]], default_size: int
) -> Grid:
    number, weight_type = header.get("EDGE_WEIGHT_TYPE", (lines[0][0], "EUC_2D"))
    if weight_type not in WEIGHT_TYPES:
        reason = f"EDGE_WEIGHT_TYPE {weight_type!r} is not one of {', '.join(WEIGHT_TYPES)}"
        raise LevelError(reason, number, 1)
    grid = np.full((_size(header, default_size),) * 2, FLOOR, dtype=np.uint8)
    count = _dimension(header, grid.size)
    for place, (number, line) in enumerate(lines[1:]):
        if place == count:
            raise LevelError(f"more nodes than DIMENSION ({count})", number, 1)
        row, column = _parse_node(number, line, len(grid))
        if grid[row, column] != FLOOR:
            raise LevelError(f"a second node at column {column}, row {row}", number, 1)
        grid[row, column] = CITY if place else AGENT + START
    found = len(lines) - 1
    if count is not None and found < count:
        raise LevelError(f"the file ends after {found} of {count} nodes", lines[-1][0], 1)
    if found < 2:
        raise LevelError("an instance needs a start and at least one city", lines[0][0], 1)
    return grid


def _size(header: dict[str, tuple[int, str]], default_size: int) -> int:
    number, comment = header.get("COMMENT", (0, ""))
    match = _GRID_COMMENT.search(comment)
    if match is None:
        return default_size
    size = int(match.group(1))
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise LevelError(f"grid {size}: maps must have {MIN_SIZE} to {MAX_SIZE} rows", number, 1)
    return size


def _dimension(header: dict[str, tuple[int, str]], most: int) -> int | None:
    if "DIMENSION" not in header:
        return None
    number, value = header["DIMENSION"]
    if not (value.isascii() and value.isdigit()) or len(value) > 9:
        raise LevelError(f"DIMENSION {value[:12]!r} is not a number of nodes", number, 1)
    if not 2 <= int(value) <= most:
        reason = f"DIMENSION {value}: needs a start and at least one city, at most {most} nodes"
        raise LevelError(reason, number, 1)
    return int(value)


def _parse_node(number: int, line: str, size: int) -> tuple[int, int]:
    """Row and column of a line `node x y`."""
    words = list(_WORD.finditer(line))
    if len(words) != 3:
        reason = f"{len(words)} words; expected 'node column row'"
        raise LevelError(reason, number, words[min(len(words), 4) - 1].start() + 1)
    coordinates = []
    for word in words[1:]:
        try:
            value = float(word.group())
        except ValueError:
            value = float("nan")
        if not value.is_integer():
            reason = f"{word.group()[:12]!r} is not an integer coordinate"
            raise LevelError(reason, number, word.start() + 1)
        if not 0 <= value < size:
            reason = f"coordinate {word.group()[:12]} is off the grid; allowed: 0 to {size - 1}"
            raise LevelError(reason, number, word.start() + 1)
        coordinates.append(int(value))
    return coordinates[1], coordinates[0]


# -- writing ---------------------------------------------------------------------------------------


def nodes(state: Grid) -> list[tuple[int, int]]:
    """Cells (row, column) in the order of their node numbers: the start, then row by row."""
    start = [(int(r), int(c)) for r, c in np.argwhere(state % AGENT == START)]
    cities = np.argwhere(np.isin(state % AGENT, (CITY, VISITED)))
    return start + [(int(r), int(c)) for r, c in cities]


def format_instances(states: Iterable[Grid]) -> str:
    """Start states as TSPLIB instances, one after another.

    Raises:
        ConfigError: a state is not a start state; TSPLIB cannot express it.
    """
    return "".join(_format_instance(state, number) for number, state in enumerate(states))


def _format_instance(state: Grid, number: int) -> str:
    if not (state == AGENT + START).any() or (state == VISITED).any():
        raise ConfigError(
            "TSPLIB can only express maps with the agent at the start and no city visited; "
            "export this one as text."
        )
    cells = nodes(state)
    coordinates = "".join(f"{i} {c} {r}\n" for i, (r, c) in enumerate(cells, start=1))
    return (
        f"NAME : tsp-{number}\nTYPE : TSP\n"
        f"COMMENT : grid {len(state)}, moves go along rows and columns\n"
        f"DIMENSION : {len(cells)}\nEDGE_WEIGHT_TYPE : EUC_2D\n{SECTION}\n{coordinates}EOF\n"
    )


def format_tour(state: Grid, actions: Actions) -> str:
    """The order of a plan's first visits as a TSPLIB tour over the map's node numbers."""
    number_of = {cell: i for i, cell in enumerate(nodes(state), start=1)}
    order = [1]
    row, column = (int(place) for place in np.argwhere(state >= AGENT)[0])
    for action in actions:
        row = min(max(row + int(ROW_STEP[action]), 0), len(state) - 1)
        column = min(max(column + int(COLUMN_STEP[action]), 0), len(state) - 1)
        number = number_of.get((row, column), 1)
        if number not in order and state[row, column] == CITY:
            order.append(number)
    visits = "".join(f"{number}\n" for number in order)
    head = f"TYPE : TOUR\nDIMENSION : {len(order)}\nCOMMENT : {len(actions)} moves\n"
    return f"NAME : tour\n{head}TOUR_SECTION\n{visits}-1\nEOF\n"
