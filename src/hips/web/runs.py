"""One search, driven piece by piece in a thread while the event loop stays free."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic import Field

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.methods.runs import Ready
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import Round, StopSearch
from hips.planner.search import Search
from hips.planner.settings import from_values
from hips.planner.solvers import Steppable
from hips.web.events import RoundWriter
from hips.web.interrupts import InterruptibleCall
from hips.web.limits import Limits
from hips.web.problems import Problem, Start

PLANNERS = 12
"""Wired methods kept for the next search."""
_BUILDING = threading.Lock()
_WARM = Budget(max_expansions=2, max_seconds=60.0)
_warmed: set[tuple[str, str]] = set()
"""Domains and methods whose kernels are compiled."""


class SearchRequest(Problem):
    """A search to run: the start state, a method and its settings."""

    method: str | None = Field(None, max_length=100)
    settings: dict[str, str | int | float | bool | None] = Field({}, max_length=50)
    named: str | None = Field(None, max_length=100)
    max_expansions: int | None = Field(None, ge=0)
    max_seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    paused: bool = False
    pace: float | None = Field(None, gt=0, allow_inf_nan=False)

    def choice(self) -> Choice:
        """The choice of method and settings; searches share the cores, so each has one thread."""
        execution = Execution(batch=1, threads=1)
        values = from_values(self.settings)
        return Choice(self.method, values, self.named, execution=execution, learned_only=True)


def planner_of(domain: Domain, choice: Choice) -> Planner:
    """The planner of a choice; the last ones are kept, and each is built once."""
    with _BUILDING:
        return _build(domain, choice)


@lru_cache(PLANNERS)
def _build(domain: Domain, choice: Choice) -> Planner:
    return Planner(domain, choice)


def _warm_up(ready: Ready, level: Grid) -> None:
    """Compiles what a first search needs, so that its seconds are those of a search."""
    key = (ready.domain.name, ready.provenance.method)
    if key not in _warmed:
        ready.solver.solve_many(ready.domain, [level], _WARM)
        _warmed.add(key)


class Run:
    """A search of one level. `advance` runs in a thread; everything else is quick.

    Args:
        start: the start state.
        choice: method and settings.
        budget: limits of the search.
        limits: limits of the server.
    """

    def __init__(self, start: Start, choice: Choice, budget: Budget, limits: Limits) -> None:
        self.start, self.choice, self.budget = start, choice, budget
        self.result: Result | None = None
        self._writer = RoundWriter(start.domain, limits.nodes)
        self._closed = threading.Event()
        self._ready: Ready | None = None
        self._search: Search | None = None
        self._rounds: Iterator[Round] = iter(())
        self._call: InterruptibleCall[list[Result]] | None = None

    def prepare(self) -> dict[str, Any]:
        """Wires the method; returns a description of it."""
        planner = planner_of(self.start.domain, self.choice)
        self._ready = planner.prepare(self.start.domain)
        solver, levels = self._ready.solver, [self.start.grid]
        if isinstance(solver, Steppable):
            _warm_up(self._ready, self.start.grid)
            self._search = solver.start(self.start.domain, levels, self.budget)
            self._rounds = self._search.rounds()
        provenance = self._ready.provenance
        return {
            "method": provenance.method,
            "settings": dict(provenance.settings),
            "model": provenance.model,
            "note": provenance.note,
            "rounds": self.has_rounds,
        }

    @property
    def has_rounds(self) -> bool:
        """Whether the method can be watched."""
        return self._search is not None

    def advance(self, most: int, seconds: float) -> list[dict[str, Any]]:
        """Runs at most `most` rounds in about `seconds`; an empty list is the end."""
        assert self._search is not None
        written: list[dict[str, Any]] = []
        deadline = time.monotonic() + seconds
        while len(written) < most and not self._closed.is_set():
            found = next(self._rounds, None)
            if found is None:
                self._finish(self._search.results())
                break
            written.extend(self._writer.write(found))
            if time.monotonic() >= deadline:
                break
        return written

    def seconds(self) -> float:
        """The search's own time so far."""
        return float(self._search.ledger.seconds()[0]) if self._search is not None else 0.0

    def end(self) -> None:
        """Ends the search as INTERRUPTED; not while `advance` runs."""
        if self._search is not None and self.result is None:
            self._search.stop()
            self._finish(self._search.results())
        elif self._call is not None:
            self._call.interrupt()

    def call(self, finished: Callable[[], None]) -> None:
        """Starts a method without rounds; `collect` takes its result after `finished`."""
        assert self._ready is not None
        solver, domain, level = self._ready.solver, self._ready.domain, self.start.grid
        self._call = InterruptibleCall(
            lambda: solver.solve_many(domain, [level], self.budget), finished
        )
        self._call.start()

    def collect(self) -> None:
        """Takes the result of `call`, or raises its error."""
        assert self._call is not None
        if isinstance(self._call.error, StopSearch):
            self._finish([])
        elif self._call.error is not None:
            raise self._call.error
        else:
            self._finish(self._call.result or [])

    def close(self) -> None:
        """Nobody looks any more: ends whatever runs, at once."""
        self._closed.set()
        if self._call is not None:
            self._call.interrupt()

    def _finish(self, results: list[Result]) -> None:
        assert self._ready is not None
        found = results[0] if results else Result(Outcome.INTERRUPTED)
        self.result = replace(
            found,
            provenance=self._ready.provenance,
            start=self.start.grid,
            domain=self.start.domain,
        )


def open_run(request: SearchRequest, limits: Limits) -> Run:
    """The run of a request, checked but not started."""
    start = request.open(limits)
    budget = limits.budget(request.max_expansions, request.max_seconds)
    return Run(start, request.choice(), budget, limits)
