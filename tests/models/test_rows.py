"""Rows shared out among threads: the same answers, in the same order, really at once."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips import domains
from hips.models import bundle
from hips.models.rows import FEWEST_ROWS, RowThreads, row_slices
from hips.seeding import stream


@given(st.integers(0, 400), st.integers(1, 9))
def test_slices_cover_all_rows_in_order(count: int, threads: int) -> None:
    slices = row_slices(count, threads)
    assert np.concatenate([np.arange(count)[rows] for rows in slices]).tolist() == [*range(count)]
    assert 1 <= len(slices) <= threads
    sizes = [rows.stop - rows.start for rows in slices]
    assert max(sizes) - min(sizes) <= 1
    assert len(slices) == 1 or min(sizes) >= FEWEST_ROWS


def test_parts_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=30)  # breaks, unless three threads meet

    def part(rows: slice) -> int:
        together.wait()
        return rows.start

    assert RowThreads(3).run(part, 30) == [0, 10, 20]


def test_an_error_in_any_part_reaches_the_caller() -> None:
    def part(rows: slice) -> None:
        if rows.start:
            raise ValueError("second part")

    with pytest.raises(ValueError, match="second part"):
        RowThreads(2).run(part, 30)


@pytest.mark.parametrize("name", bundle.installed())
def test_a_model_answers_the_same_with_any_number_of_threads(name: str) -> None:
    domain = domains.create(name)
    one, three = (bundle.load(name, domain, threads, "int8").runtime for threads in (1, 3))
    states = domain.sample(stream(5, "rows"), 13)
    parents, codes = np.sort(np.arange(30) % 13), np.arange(30) % 8
    answers = [
        (
            *runtime.prior(states),
            *runtime.policy(states, states[::-1]),
            runtime.heuristic(states),
            runtime.decode(states, parents, codes),
        )
        for runtime in (one, three)
    ]
    for expected, found in zip(*answers, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
