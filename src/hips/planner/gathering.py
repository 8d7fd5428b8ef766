"""The frame of solvers that end their levels one by one: results by level, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import is_interrupt
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Observer, StopSearch

Report: TypeAlias = Callable[[int, Result], None]
"""Takes the index of a level and its result."""


def gather(
    domain: Domain,
    levels: Sequence[Grid],
    observer: Observer | None,
    work: Callable[[Report], None],
) -> list[Result]:
    """Results in the order of `levels`, as `work` reports them; after Ctrl-C, INTERRUPTED ones."""
    blank = [Result(Outcome.INTERRUPTED, start=level, domain=domain) for level in levels]
    results: dict[int, Result] = {}

    def report(index: int, result: Result) -> None:
        results[index] = replace(result, start=levels[index], domain=domain)
        if observer is not None:
            observer.on_result(index, results[index])

    try:
        work(report)
    except (KeyboardInterrupt, SystemError, StopSearch) as error:
        if not (isinstance(error, StopSearch) or is_interrupt(error)):
            raise
    return [results.get(index, rest) for index, rest in enumerate(blank)]
