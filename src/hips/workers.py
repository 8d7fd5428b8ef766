"""Worker processes that end when their parent does, however it ends."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from hips.errors import HipsError

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def cores() -> int:
    """How many cores this process may keep busy: one in a worker process, else all it is given."""
    if multiprocessing.parent_process() is not None:
        return 1
    # Not on every system; and a container may give fewer cores than the machine has.
    affinity = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1) if affinity is None else len(affinity(0))


def run(
    function: Callable[[Task], Outcome], tasks: Sequence[Task], workers: int
) -> Iterator[tuple[Task, Outcome]]:
    """Applies a module-level function to every task; yields each pair as it is finished.

    With one worker (or one task) everything happens in this process, in order. Ctrl-C, an error or
    leaving the loop early stops the workers at once.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        for task in tasks:
            yield task, function(task)
        return
    before = set(multiprocessing.active_children())
    # Forking a process that runs threads (BLAS, Numba) can hang; spawning cannot.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    try:
        futures = {executor.submit(function, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
        executor.shutdown()
    except BrokenProcessPool as error:
        raise HipsError(
            "A worker process died (out of memory, or the main module cannot be imported by a "
            "new process). Try again with one worker."
        ) from error
    finally:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    """Leaves Ctrl-C to the parent, and ends this process when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
