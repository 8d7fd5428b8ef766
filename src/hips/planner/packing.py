"""Grids as packed bytes: compiled hashing, comparison and merging of duplicates."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hips.arrays import Bools, Bytes, Floats, Grids, Ints


def pack(states: Grids) -> Bytes:
    """Grids `[M, H, W]` as bytes `[M, H * W]`, also for M = 0."""
    return np.ascontiguousarray(states).reshape(len(states), math.prod(states.shape[1:]))


@njit(cache=True, nogil=True)
def hash_state(packed: Bytes, salt: int) -> int:
    """A 62-bit hash of one packed state."""
    multiplier = np.uint64(0x9E3779B97F4A7C15)
    code = (np.uint64(salt) + np.uint64(0xD1B54A32D192ED03)) * multiplier
    size = packed.shape[0]
    for start in range(0, size, 8):
        word = np.uint64(0)
        for i in range(start, min(start + 8, size)):
            word = (word << np.uint64(8)) | np.uint64(packed[i])
        code = (code ^ word) * multiplier
        code ^= code >> np.uint64(29)
    code *= multiplier
    return np.int64(code >> np.uint64(2))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def hash_states(packed: Bytes) -> Ints:
    """Hashes `[M]` of packed states `[M, S]`."""
    codes = np.empty(packed.shape[0], dtype=np.int64)
    for m in range(packed.shape[0]):
        codes[m] = hash_state(packed[m], 0)
    return codes


@njit(cache=True, nogil=True)
def differ(left: Bytes, right: Bytes) -> Bools:
    """Which packed states `[M, S]` are not equal, `[M]`."""
    different = np.zeros(left.shape[0], dtype=np.bool_)
    for m in range(left.shape[0]):
        for i in range(left.shape[1]):
            if left[m, i] != right[m, i]:
                different[m] = True
                break
    return different


@njit(cache=True, nogil=True)
def same_state(left: Bytes, a: int, right: Bytes, b: int) -> bool:
    """Whether state `a` of one array equals state `b` of another."""
    for i in range(left.shape[1]):  # noqa: SIM110
        if left[a, i] != right[b, i]:
            return False
    return True


@njit(cache=True, nogil=True)
def first_occurrences(owners: Ints, packed: Bytes) -> Ints:
    """For each `(owner, state)` the index of the first equal pair, `[M]`."""
    count = packed.shape[0]
    size = 8
    while size < 2 * count:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    first = np.empty(count, dtype=np.int64)
    for m in range(count):
        place = (hash_state(packed[m], owners[m]) >> 20) & (size - 1)
        while True:
            other = table[place]
            if other < 0:
                table[place] = m
                first[m] = m
                break
            if owners[other] == owners[m] and same_state(packed, other, packed, m):
                first[m] = other
                break
            place = (place + 1) & (size - 1)
    return first


@njit(cache=True, nogil=True)
def merge_equal(
    owners: Ints, packed: Bytes, lengths: Ints, log_probabilities: Floats, sum_equal: bool
) -> tuple[Ints, Floats]:
    """Merges equal `(owner, state)` pairs into the shortest (then first); arrays are `[M]`.

    Returns the indices kept, ascending, and the logarithms of the sum (`sum_equal`) or of the
    largest of their probabilities.
    """
    first = first_occurrences(owners, packed)
    shortest = first.copy()
    totals = np.full(first.shape[0], -np.inf)
    for m in range(first.shape[0]):
        if lengths[m] < lengths[shortest[first[m]]]:
            shortest[first[m]] = m
        if sum_equal:
            totals[first[m]] = np.logaddexp(totals[first[m]], log_probabilities[m])
        else:
            totals[first[m]] = max(totals[first[m]], log_probabilities[m])
    originals = np.flatnonzero(first == np.arange(first.shape[0]))
    order = np.argsort(shortest[originals])
    return shortest[originals][order], totals[originals][order]
