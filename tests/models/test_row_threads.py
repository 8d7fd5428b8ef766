"""Rows shared out among threads: the same answers, in the same order, really at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips import domains
from hips.models import bundle
from hips.models.row_threads import FEWEST_ROWS, RowThreads, row_slices
from hips.models.runtime import Array, GraphRuntime
from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals.adapter import decode
from hips.seeding import stream

SHIPPED = sorted(card.parent.name for card in bundle.shipped_folder().glob(f"*/{bundle.CARD}"))
CHILD_SECONDS = 600.0


@given(st.integers(0, 400), st.integers(1, 9))
def test_slices_cover_all_rows_in_order(count: int, threads: int) -> None:
    slices = row_slices(count, threads)
    assert np.concatenate([np.arange(count)[rows] for rows in slices]).tolist() == [*range(count)]
    assert 1 <= len(slices) <= threads
    sizes = [rows.stop - rows.start for rows in slices]
    assert max(sizes) - min(sizes) <= 1
    assert len(slices) == 1 or min(sizes) >= FEWEST_ROWS


def test_parts_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=300)  # breaks, unless three threads meet

    def part(rows: slice) -> int:
        together.wait()
        return int(rows.start)

    assert RowThreads(3).run(part, 30) == [0, 10, 20]


def test_an_error_in_any_part_reaches_the_caller() -> None:
    def part(rows: slice) -> None:
        if rows.start:
            raise ValueError("second part")

    threads = RowThreads(2)
    with pytest.raises(ValueError, match="second part"):
        threads.run(part, 30)
    assert threads.run(lambda rows: rows.stop, 30) == [15, 30]  # it can be used again


def test_many_callers_share_one_pool() -> None:
    """Each gets its own answers, and no caller makes a pool of its own."""
    threads = RowThreads(3)
    begin = threading.Barrier(8, timeout=300)

    def caller(number: int) -> list[tuple[int, int]]:
        begin.wait()
        found = [threads.run(lambda rows: (number, rows.start), 30) for _ in range(50)]
        assert all(one == found[0] for one in found)
        return found[0]

    with ThreadPoolExecutor(8) as pool:
        for number, found in enumerate(pool.map(caller, range(8))):
            assert found == [(number, 0), (number, 10), (number, 20)]
    named = [one for one in threading.enumerate() if one.name.startswith("hips-rows")]
    mine = {one for one in named if one in threads._workers()._threads}
    assert 1 <= len(mine) <= 2


def answers(runtime: GraphRuntime, states: Array) -> list[Array]:
    """What the graphs of a search say about states."""
    count = len(states)
    parents, codes = np.sort(np.arange(30) % count), np.arange(30) % 8
    foresight = LearnedReachPolicy(runtime).act(states, states[::-1])
    assert foresight.reachable is not None
    return [
        *LearnedPrior(runtime).evaluate(states),
        foresight.log_probabilities,
        foresight.reachable,
        LearnedHeuristic(runtime).distances(states),
        decode(runtime, states, parents, codes),
    ]


def same(first: list[Array], second: list[Array]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(np.allclose(one, other, rtol=1e-4, atol=1e-4) for one, other in pairs)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_model_answers_the_same_with_any_number_of_threads(name: str) -> None:
    domain = domains.create(name)
    loaded = bundle.load(name, domain)
    states = domain.sample(stream(5, "rows"), 13)
    expected, found = (answers(loaded.runtime("int8", threads), states) for threads in (1, 3))
    assert same(expected, found)


def test_one_runtime_serves_many_threads(model: Path) -> None:
    """Also at its very first call, when graphs are opened and the pool is made."""
    loaded = bundle.load(model)
    runtime = loaded.runtime("fp32", 3)
    batches = [loaded.domain.sample(stream(i, "threads"), 13) for i in range(6)]
    expected = [answers(loaded.runtime("fp32", 1), states) for states in batches]
    begin = threading.Barrier(6, timeout=300)

    def caller(number: int) -> bool:
        begin.wait()
        return all(same(answers(runtime, batches[number]), expected[number]) for _ in range(5))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(caller, range(6)))


def exit_code(child: int) -> int | None:
    """How a child ended; None, and it is killed, if it does not."""
    deadline = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("held", [False, True])
def test_a_forked_process_computes_with_the_runtime_of_its_parent(model: Path, held: bool) -> None:
    """The threads of the parent are not there, and its lock may have been held for ever."""
    loaded = bundle.load(model)
    runtime = loaded.runtime("fp32", 3)
    states = loaded.domain.sample(stream(1, "fork"), 13)
    expected = answers(runtime, states)  # the pool of the parent is running now
    if held:
        runtime._threads._lock.acquire()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if same(answers(runtime, states), expected) else 3
        finally:
            os._exit(code)
    if held:
        runtime._threads._lock.release()
    assert exit_code(child) == 0
    assert same(answers(runtime, states), expected)  # nor is the parent harmed
