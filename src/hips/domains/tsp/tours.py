"""Short paths through cities on a grid: nearest neighbour, 2-opt, or-opt and kicks.

A path is an array of nodes `[m + 2]`: the agent, `m` cities and the start. Its ends are fixed.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

KICK_EFFORT = 60_000
"""Kicks times the squared number of cities: 96 kicks for 25 cities, none for many hundreds."""
LONGEST_SEGMENT = 3


@numba.njit(cache=True, nogil=True)
def distance(rows: Ints, columns: Ints, one: int, other: int) -> int:
    """Moves between two nodes."""
    return int(abs(rows[one] - rows[other]) + abs(columns[one] - columns[other]))


@numba.njit(cache=True, nogil=True)
def path_length(path: Ints, rows: Ints, columns: Ints) -> int:
    """Number of moves along a path."""
    total = 0
    for place in range(len(path) - 1):
        total += distance(rows, columns, path[place], path[place + 1])
    return total


@numba.njit(cache=True, nogil=True)
def improve(path: Ints, rows: Ints, columns: Ints) -> None:
    """Local search in place until neither 2-opt nor or-opt shortens the path."""
    while _two_opt(path, rows, columns) or _or_opt(path, rows, columns):
        pass


@numba.njit(cache=True, nogil=True)
def optimise(path: Ints, rows: Ints, columns: Ints) -> Ints:
    """A near-optimal order of the inner nodes, which depends only on the path's *set* of nodes.

    Nearest neighbour, local search, then kicks (swaps of two adjacent segments), kept unless they
    lengthen the path.
    """
    best = _nearest_neighbour(path, rows, columns)
    improve(best, rows, columns)
    best_length = path_length(best, rows, columns)
    inner = len(path) - 2
    kicks = KICK_EFFORT // (inner * inner) if inner >= 4 else 0
    word = np.uint64(0x9E3779B97F4A7C15)
    for _ in range(min(kicks, 400)):
        cuts = np.empty(3, dtype=np.int64)
        for place in range(3):
            word ^= word << np.uint64(13)
            word ^= word >> np.uint64(7)
            word ^= word << np.uint64(17)
            cuts[place] = 1 + np.int64((word >> np.uint64(11)) % np.uint64(inner + 1))
        cuts.sort()
        first, second, third = cuts
        if first == second or second == third:
            continue
        kicked = np.concatenate(
            (best[:first], best[second:third], best[first:second], best[third:])
        )
        improve(kicked, rows, columns)
        length = path_length(kicked, rows, columns)
        if length <= best_length:
            best, best_length = kicked, length
    return _nearer_end_first(best, rows, columns)


@numba.njit(cache=True, nogil=True)
def _nearer_end_first(path: Ints, rows: Ints, columns: Ints) -> Ints:
    """The direction of a round trip that begins with the shorter leg."""
    if distance(rows, columns, path[0], path[-1]) > 0:
        return path
    first = distance(rows, columns, path[0], path[1])
    last = distance(rows, columns, path[-2], path[-1])
    if last < first:
        path[1:-1] = path[1:-1][::-1].copy()
    return path


@numba.njit(cache=True, nogil=True)
def _nearest_neighbour(path: Ints, rows: Ints, columns: Ints) -> Ints:
    """Always goes to the nearest remaining node; ties go to the smallest number."""
    result = path.copy()
    result[1:-1].sort()
    for place in range(1, len(result) - 2):
        nearest = place
        for other in range(place + 1, len(result) - 1):
            here = distance(rows, columns, result[place - 1], result[nearest])
            there = distance(rows, columns, result[place - 1], result[other])
            if there < here or (there == here and result[other] < result[nearest]):
                nearest = other
        result[place], result[nearest] = result[nearest], result[place]
    return result


@numba.njit(cache=True, nogil=True)
def _two_opt(path: Ints, rows: Ints, columns: Ints) -> bool:
    """Reverses segments that shorten the path, in one pass."""
    shortened = False
    for i in range(1, len(path) - 2):
        for j in range(i + 1, len(path) - 1):
            change = (
                distance(rows, columns, path[i - 1], path[j])
                + distance(rows, columns, path[i], path[j + 1])
                - distance(rows, columns, path[i - 1], path[i])
                - distance(rows, columns, path[j], path[j + 1])
            )
            if change < 0:
                path[i : j + 1] = path[i : j + 1][::-1].copy()
                shortened = True
    return shortened


@numba.njit(cache=True, nogil=True)
def _or_opt(path: Ints, rows: Ints, columns: Ints) -> bool:
    """Moves segments of up to three nodes elsewhere, in either direction, in one pass."""
    shortened = False
    for length in range(1, LONGEST_SEGMENT + 1):
        for i in range(1, len(path) - length):
            end = i + length - 1
            gain = (
                distance(rows, columns, path[i - 1], path[i])
                + distance(rows, columns, path[end], path[end + 1])
                - distance(rows, columns, path[i - 1], path[end + 1])
            )
            if gain > 0 and _reinsert(path, i, length, gain, rows, columns):
                shortened = True
    return shortened


@numba.njit(cache=True, nogil=True)
def _reinsert(path: Ints, i: int, length: int, gain: int, rows: Ints, columns: Ints) -> bool:
    """Moves the segment at `i` to the first place that costs less than `gain`."""
    first, last = path[i], path[i + length - 1]
    for place in range(len(path) - 1):
        if i - 1 <= place < i + length:
            continue
        here, there = path[place], path[place + 1]
        open_leg = distance(rows, columns, here, there)
        forward = distance(rows, columns, here, first) + distance(rows, columns, last, there)
        backward = distance(rows, columns, here, last) + distance(rows, columns, first, there)
        if min(forward, backward) - open_leg < gain:
            segment = path[i : i + length].copy()
            if backward < forward:
                segment = segment[::-1].copy()
            if place < i:
                path[place + 1 + length : i + length] = path[place + 1 : i].copy()
                path[place + 1 : place + 1 + length] = segment
            else:
                path[i : place + 1 - length] = path[i + length : place + 1].copy()
                path[place + 1 - length : place + 1] = segment
            return True
    return False
