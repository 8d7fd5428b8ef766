"""Tasks in local processes, which end whenever their parent does."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Generic

from hips import plugins
from hips.engines.base import Answer, Receive, Task, Work
from hips.errors import ConfigError, HipsError, is_interrupt
from hips.interrupts import blocked, leave_to_parent, shielded

ANSWER, DONE, FAILED = "answer", "done", "failed"
MOST_WORKERS = 4096


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Worker processes; with one worker (or one task), everything runs in this process.

    Attributes:
        workers: maximum number of processes.
    """

    workers: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ConfigError(
                f"Cannot run {self.workers} workers; give at least 1, at most {MOST_WORKERS}."
            )

    @property
    def parallel(self) -> int:
        """Number of tasks that run at once."""
        return self.workers

    def status(self) -> str:
        """Nothing: the number of workers is what the user asked for."""
        return ""

    def run(
        self, work: Work[Task, Answer], tasks: Iterable[Task], receive: Receive[Task, Answer]
    ) -> None:
        """Does the work of every task; delivers each answer at once.

        Ctrl-C or an error stops the workers immediately.
        """
        coming = iter(tasks)
        first = list(islice(coming, self.workers))
        if len(first) <= 1 or self.workers == 1:
            for task in chain(first, coming):
                work(task, partial(_deliver, receive, task))
            return
        _Pool(work, receive).run(first, coming)


def _deliver(receive: Receive[Task, Answer], task: Task, answer: Answer) -> None:
    with shielded():
        receive(task, answer)


class _Worker:
    """A process and the connection to it."""

    def __init__(self, work: Work[Any, Any]) -> None:
        # Forking a process with running threads (BLAS, Numba) can hang; spawning cannot.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with blocked():
            self.process.start()
        theirs.close()
        self.task: Any = None

    def begin(self, task: Any) -> None:
        """Sends the process a task."""
        self.task = task
        self.connection.send(task)


class _Pool(Generic[Task, Answer]):
    """Worker processes that deliver answers while their tasks still run."""

    def __init__(self, work: Work[Task, Answer], receive: Receive[Task, Answer]) -> None:
        self.work, self.receive = work, receive
        self.busy: dict[Any, _Worker] = {}
        self.started: list[_Worker] = []

    def run(self, first: Iterable[Task], rest: Iterator[Task]) -> None:
        """Runs a worker for each of the `first` tasks until all tasks are done."""
        try:
            for task in first:
                worker = _Worker(self.work)
                self.started.append(worker)
                worker.begin(task)
                self.busy[worker.connection] = worker
            while self.busy:
                for connection in multiprocessing.connection.wait(list(self.busy)):
                    with shielded():
                        done = self._take(self.busy[connection])
                    if done:
                        self._go_on(self.busy.pop(connection), rest)
        except (KeyboardInterrupt, SystemError, _WorkerDied) as error:
            self._stop()
            if isinstance(error, _WorkerDied) or is_interrupt(error):
                self._drain()
            raise
        finally:
            self._stop()

    def _take(self, worker: _Worker) -> bool:
        """Receives one message; returns whether the worker has finished its task."""
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError):
            raise _WorkerDied(
                "A worker process died: it ran out of memory, or could not import the main "
                "module. Try again with one worker."
            ) from None
        except Exception as error:  # an error of a plug-in may not survive the way
            raise HipsError(f"A task failed, and its answer cannot be read ({error!r}).") from None
        if kind == FAILED:
            raise content
        if kind == ANSWER:
            self.receive(worker.task, content)
        return bool(kind == DONE)

    def _go_on(self, worker: _Worker, rest: Iterator[Task]) -> None:
        for task in islice(rest, 1):
            worker.begin(task)
            self.busy[worker.connection] = worker

    def _stop(self) -> None:
        for worker in self.started:
            worker.process.kill()
        for worker in self.started:
            worker.process.join()

    def _drain(self) -> None:
        """Receives the answers that were on their way."""
        for worker in self.busy.values():
            try:
                while worker.connection.poll():
                    self._take(worker)
            except (HipsError, EOFError, OSError):
                continue


class _WorkerDied(HipsError):
    """A process ended in the middle of a task."""


def _serve(connection: Any, work: Work[Any, Any]) -> None:
    """The loop of a worker process; it ends with its parent."""
    leave_to_parent()
    threading.Thread(target=_follow_parent, daemon=True).start()
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            with plugins.blamed():
                work(task, lambda answer: connection.send((ANSWER, answer)))
        except BaseException as error:
            _send_error(connection, error)
        else:
            connection.send((DONE, None))


def _send_error(connection: Any, error: BaseException) -> None:
    try:
        connection.send((FAILED, error))
    except Exception:  # an error of a plug-in may not survive the way
        connection.send((FAILED, HipsError(f"A task failed ({error!r}).")))


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
