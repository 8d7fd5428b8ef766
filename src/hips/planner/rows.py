"""Grids as rows of bytes: compiled hashing, comparing, and merging of equal ones."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


def as_rows(states: npt.NDArray[np.uint8]) -> Bytes:
    """Grids `[M, H, W]` as rows of bytes `[M, H * W]`, also for M = 0."""
    return np.ascontiguousarray(states).reshape(len(states), math.prod(states.shape[1:]))


@njit(cache=True, nogil=True)
def hash_row(row: Bytes, salt: int) -> int:
    """A 62-bit hash of bytes."""
    multiplier = np.uint64(0x9E3779B97F4A7C15)
    code = (np.uint64(salt) + np.uint64(0xD1B54A32D192ED03)) * multiplier
    size = row.shape[0]
    for start in range(0, size, 8):
        word = np.uint64(0)
        for i in range(start, min(start + 8, size)):
            word = (word << np.uint64(8)) | np.uint64(row[i])
        code = (code ^ word) * multiplier
        code ^= code >> np.uint64(29)
    code *= multiplier
    return np.int64(code >> np.uint64(2))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def hash_rows(rows: Bytes) -> Ints:
    """Hashes `[M]` of rows `[M, S]`."""
    codes = np.empty(rows.shape[0], dtype=np.int64)
    for m in range(rows.shape[0]):
        codes[m] = hash_row(rows[m], 0)
    return codes


@njit(cache=True, nogil=True)
def rows_differ(left: Bytes, right: Bytes) -> npt.NDArray[np.bool_]:
    """Which rows `[M, S]` are not equal, `[M]`."""
    differ = np.zeros(left.shape[0], dtype=np.bool_)
    for m in range(left.shape[0]):
        for i in range(left.shape[1]):
            if left[m, i] != right[m, i]:
                differ[m] = True
                break
    return differ


@njit(cache=True, nogil=True)
def same_row(left: Bytes, a: int, right: Bytes, b: int) -> bool:
    """Whether row `a` of one array equals row `b` of another."""
    for i in range(left.shape[1]):  # noqa: SIM110
        if left[a, i] != right[b, i]:
            return False
    return True


@njit(cache=True, nogil=True)
def first_occurrences(owners: Ints, rows: Bytes) -> Ints:
    """For each `(owner, row)` the index of the first equal pair, `[M]`."""
    count = rows.shape[0]
    size = 8
    while size < 2 * count:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    first = np.empty(count, dtype=np.int64)
    for m in range(count):
        place = (hash_row(rows[m], owners[m]) >> 20) & (size - 1)
        while True:
            other = table[place]
            if other < 0:
                table[place] = m
                first[m] = m
                break
            if owners[other] == owners[m] and same_row(rows, other, rows, m):
                first[m] = other
                break
            place = (place + 1) & (size - 1)
    return first


@njit(cache=True, nogil=True)
def merge_equal(
    owners: Ints, rows: Bytes, lengths: Ints, log_probabilities: Floats
) -> tuple[Ints, Floats]:
    """Of equal `(owner, row)` pairs the shortest (then first) one; all arguments have M entries.

    Returns the indices kept, ascending, and their log-probabilities, those of their equals added.
    """
    first = first_occurrences(owners, rows)
    shortest = first.copy()
    totals = np.full(first.shape[0], -np.inf)
    for m in range(first.shape[0]):
        if lengths[m] < lengths[shortest[first[m]]]:
            shortest[first[m]] = m
        totals[first[m]] = np.logaddexp(totals[first[m]], log_probabilities[m])
    originals = np.flatnonzero(first == np.arange(first.shape[0]))
    order = np.argsort(shortest[originals])
    return shortest[originals][order], totals[originals][order]
