"""The contract of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Engine(Protocol):
    """Runs tasks."""

    @property
    def parallel(self) -> int:
        """Number of tasks that run at once."""
        ...

    def run(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Answer]]:
        """Applies a module-level function to every task; yields each pair as it finishes.

        A task may run twice if a process is lost, so it must be deterministic. Leaving the loop
        stops tasks that are still running.
        """
        ...
