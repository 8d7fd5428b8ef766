"""TSPLIB instances and tours.

Nodes have coordinates `column row`, counted from 0 at the top left; the first node is the start.
TSPLIB has no field for the grid's size: it is written to and read from the comment. In a file
without that comment, coordinates that are not cells of the domain's grid are scaled onto it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from hips.arrays import Actions, Grid
from hips.domains.defaults import shortened
from hips.domains.records import Level
from hips.domains.tsp import scaling
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
WEIGHT_TYPES = ("EUC_2D", "MAN_2D", "MAX_2D", "CEIL_2D", "ATT", "GEO")
"""Types whose nodes have coordinates in the plane (GEO: nearly so)."""
LARGEST = 1e12
"""Largest coordinate."""
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


def scan_instances(lines: Iterable[str], default_size: int) -> Iterator[Level | LevelError]:
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


def _parse_instance(lines: Sequence[tuple[int, str]], default_size: int) -> Level:
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
) -> Level:
    number, weight_type = header.get("EDGE_WEIGHT_TYPE", (lines[0][0], "EUC_2D"))
    if weight_type not in WEIGHT_TYPES:
        reason = f"EDGE_WEIGHT_TYPE {weight_type[:20]!r} is not one of {', '.join(WEIGHT_TYPES)}"
        raise LevelError(reason, number, 1)
    own = _size(header)
    count = _dimension(header, (own or MAX_SIZE) ** 2)
    points: list[tuple[float, float]] = []
    for place, (number, line) in enumerate(lines[1:]):
        if place == count:
            raise LevelError(f"more nodes than DIMENSION ({count})", number, 1)
        points.append(_parse_node(number, line))
    if count is not None and len(points) < count:
        raise LevelError(f"the file ends after {len(points)} of {count} nodes", lines[-1][0], 1)
    if len(points) < 2:
        raise LevelError("an instance needs a start and at least one city", lines[0][0], 1)
    title = shortened(header.get("NAME", (0, ""))[1])
    if own is not None:
        return Level(_draw(_own_cells(points, own, lines), own), title)
    if _fits(points, default_size):
        cells = [(int(y), int(x)) for x, y in points]
        return Level(_draw(cells, default_size), title)
    size = scaling.side_for(len(points), default_size)
    if len(points) > size * size:
        reason = f"{len(points)} nodes do not fit into {size} × {size} cells"
        raise LevelError(reason, lines[0][0], 1)
    cells, moved = scaling.place(points, size)
    note = f"coordinates scaled onto {size} × {size} cells; tours are counted in moves"
    if moved:
        note += f"; {moved} of {len(points)} nodes moved to the nearest free cell"
    return Level(_draw(cells, size), title, note)


def _draw(cells: Sequence[scaling.Cell], size: int) -> Grid:
    """A map with the start in the first cell and cities in the others."""
    grid = np.full((size, size), FLOOR, dtype=np.uint8)
    for cell in cells:
        grid[cell] = CITY
    grid[cells[0]] = AGENT + START
    return grid


def _fits(points: Sequence[tuple[float, float]], size: int) -> bool:
    """Whether the points are distinct cells of a grid as they are."""
    inside = all(0 <= z < size and z.is_integer() for point in points for z in point)
    return inside and len(set(points)) == len(points)


def _own_cells(
    points: Sequence[tuple[float, float]], size: int, lines: Sequence[tuple[int, str]]
) -> list[scaling.Cell]:
    """Cells of an instance that names its grid, as `format_instances` writes it."""
    cells: dict[scaling.Cell, None] = {}
    for (number, _), (x, y) in zip(lines[1:], points, strict=True):
        for value in (x, y):
            if not value.is_integer():
                raise LevelError(f"{value:g} is not an integer coordinate", number, 1)
            if not 0 <= value < size:
                reason = f"coordinate {value:g} is off the grid; allowed: 0 to {size - 1}"
                raise LevelError(reason, number, 1)
        cell = (int(y), int(x))
        if cell in cells:
            raise LevelError(f"a second node at column {cell[1]}, row {cell[0]}", number, 1)
        cells[cell] = None
    return list(cells)


def _size(header: dict[str, tuple[int, str]]) -> int | None:
    """The size of the grid in the comment; None without one."""
    number, comment = header.get("COMMENT", (0, ""))
    match = _GRID_COMMENT.search(comment)
    if match is None:
        return None
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


def _parse_node(number: int, line: str) -> tuple[float, float]:
    """X and y of a line `node x y`."""
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
        if not abs(value) <= LARGEST:
            reason = f"{word.group()[:12]!r} is not a coordinate"
            raise LevelError(reason, number, word.start() + 1)
        coordinates.append(value)
    return coordinates[0], coordinates[1]


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
