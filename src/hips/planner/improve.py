"""Anytime improvement of plans: better and better ones until the time is spent."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from hips.arrays import Actions, Grid
from hips.domains.base import Domain, replay
from hips.errors import ConfigError
from hips.planner.budget import available_bytes
from hips.planner.macros import DomainEstimate, has_estimate
from hips.planner.protocols import Heuristic
from hips.planner.result import FoundPlan, Result, Segment
from hips.planner.shortcuts import Guide, shortcuts
from hips.planner.state_graph import GraphFullError, Path, StateGraph
from hips.planner.validate import is_plan

MAX_BYTES = 1 << 30
"""Memory of the states around a plan, unless less is allowed or free."""
WIDE = 512
"""Width of the first beam along a domain's own estimate."""


def check_improve(seconds: float) -> None:
    """Rejects a time for improvement that is negative or no number.

    Raises:
        ConfigError: it is one.
    """
    if not seconds >= 0:
        raise ConfigError(f"{seconds} seconds to improve a plan are invalid; give 0 or more.")


class Improvement:
    """Shortens the plan of a result.

    The plans found, one after the other, are always the same; the clock only decides how many of
    them there is time for.

    Attributes:
        result: the result with the best plan so far; kept when the work is interrupted.

    Args:
        result: a result with its level and domain.
        heuristic: guides the search for better plans beside what the domain knows; None leaves
            it to that.
        max_memory: bytes of the states kept, if less than `MAX_BYTES`.
    """

    def __init__(
        self, result: Result, heuristic: Heuristic | None = None, max_memory: int | None = None
    ) -> None:
        self.result = result
        self.heuristic = heuristic
        limits = [MAX_BYTES, available_bytes() // 2, *([] if max_memory is None else [max_memory])]
        self.max_bytes = min(limits)

    def run(self, seconds: float, report: Callable[[Result], None] | None = None) -> Result:
        """Looks for shorter plans for `seconds`, or until there is none.

        Args:
            seconds: time to spend.
            report: called with the result of every better plan.
        """
        began = time.perf_counter()
        first = self.result
        if not first.solved or first.domain is None or first.start is None or seconds <= 0:
            return first
        spent = first.statistics.seconds
        history = (FoundPlan(spent, len(first.plan)),)
        self.result = dataclasses.replace(first, history=history)
        graph = StateGraph(first.domain, np.asarray(first.start), self.max_bytes)
        with suppress(GraphFullError):
            for path in self._paths(graph):
                passed = time.perf_counter() - began
                if path is not None and not self._keep(path, spent + passed, report):
                    break
                if passed >= seconds:
                    break
        return self.result

    def _paths(self, graph: StateGraph) -> Iterator[Path | None]:
        """The plan without loops and detours, then shorter ones, with None in between."""
        actions = graph.domain.spec.action_indices(self.result.plan)
        best = lay_out(graph, actions)
        yield best
        tidied = graph.domain.tidy(graph.states(slice(0, 1))[0], best.actions)
        if len(tidied) < len(best):
            yield (best := lay_out(graph, tidied))
        yield from shortcuts(graph, best, self._guides(graph.domain))

    def _guides(self, domain: Domain) -> list[Guide]:
        """What the domain knows, which is cheap and so guides wide beams, then ĥ."""
        own = [Guide(DomainEstimate(domain), WIDE)] if has_estimate(domain) else []
        return own if self.heuristic is None else [*own, Guide(self.heuristic)]

    def _keep(self, path: Path, moment: float, report: Callable[[Result], None] | None) -> bool:
        """Keeps a shorter plan; False if it fails on replay, so that no later one is trusted."""
        domain, start = self.result.domain, self.result.start
        assert domain is not None
        assert start is not None
        if not is_plan(domain, start, path.actions):
            return False
        if len(path) < len(self.result.plan):
            self.result = dataclasses.replace(
                self.result,
                plan=domain.spec.action_names(path.actions),
                segments=(Segment("improved", "", len(path)),) if len(path) else (),
                history=(*self.result.history, FoundPlan(moment, len(path))),
            )
            if report is not None:
                report(self.result)
        return True


def lay_out(graph: StateGraph, actions: Actions) -> Path:
    """Enters the states of a plan into a graph; returns a shortest path among all it has."""
    start = graph.states(slice(0, 1))[0]
    graph.expand_new(np.unique(graph.add(replay(graph.domain, start, actions))))
    best = graph.best()
    assert best is not None
    return best


def shorten(domain: Domain, start: Grid, actions: Actions, most: int) -> Actions:
    """A plan that is no longer, from a graph of about `most` states; the same every time."""
    graph = StateGraph(domain, start, MAX_BYTES)
    best = lay_out(graph, actions)
    with suppress(GraphFullError):
        for path in shortcuts(graph, best):
            best = path or best
            if graph.num_nodes >= most:
                break
    return best.actions
