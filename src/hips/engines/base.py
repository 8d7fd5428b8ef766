"""The contract of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")
Work: TypeAlias = Callable[[Task, Callable[[Answer], None]], None]
"""A module-level function of a task that passes its answers, one or many, to its second argument.

It must be deterministic: a task runs again if its process or machine is lost.
"""
Receive: TypeAlias = Callable[[Task, Answer], None]
"""Takes an answer in the calling process."""


class Engine(Protocol):
    """Runs tasks."""

    @property
    def parallel(self) -> int:
        """Number of tasks that run at once."""
        ...

    def run(
        self, work: Work[Task, Answer], tasks: Iterable[Task], receive: Receive[Task, Answer]
    ) -> None:
        """Does the work of every task and passes each answer to `receive` as soon as it is here.

        Tasks are taken from the iterable only when they are about to run, so it may be endless.
        An error of a task, of `receive`, or Ctrl-C stops the tasks that are still running and is
        raised; answers that have arrived by then are delivered first.
        """
        ...

    def status(self) -> str:
        """What a progress bar says about the engine; empty if there is nothing to say."""
        ...
