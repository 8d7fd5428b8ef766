"""Tasks in local processes, which end whenever their parent does."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from hips.engines.base import Answer, Task
from hips.errors import ConfigError, HipsError


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Worker processes; with one worker (or one task), everything runs in this process.

    Attributes:
        workers: maximum number of processes.
    """

    workers: int = 1

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ConfigError(f"Cannot run {self.workers} workers; give at least 1.")

    @property
    def parallel(self) -> int:
        """Number of tasks that run at once."""
        return self.workers

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer]]:
        """Applies a module-level function to every task; yields each pair as it finishes.

        Ctrl-C, an error or leaving the loop early stops the workers immediately.
        """
        if min(self.workers, len(tasks)) <= 1:
            for task in tasks:
                yield task, function(task)
            return
        yield from _run_in_processes(function, tasks, min(self.workers, len(tasks)))


def _run_in_processes(
    function: Callable[[Task], Answer], tasks: Sequence[Task], workers: int
) -> Iterator[tuple[Task, Answer]]:
    before = set(multiprocessing.active_children())
    # Forking a process with running threads (BLAS, Numba) can hang; spawning cannot.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    try:
        futures = {executor.submit(function, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
        executor.shutdown()
    except BrokenProcessPool as error:
        raise HipsError(
            "A worker process died: it ran out of memory, or could not import the main module. "
            "Try again with one worker."
        ) from error
    finally:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        executor.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    """Leaves Ctrl-C to the parent and ends this process when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
