"""A trial of a new model: its subgoals against a search over single actions, on fresh levels."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hips import methods
from hips.arrays import Bools, Grid
from hips.domains.base import Domain
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models.card import Card
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.seeding import stream
from hips.training.verdict import Level, Verdict

BOTH, ALONE, SINGLE = METHODS = ("hips_eps", "hips", "phs_star")
"""Compared methods: complete with subgoals, subgoals alone, single actions."""
JUMPING = "subgoals"
"""The part whose worth the trial shows."""
GROUP, GROUPS = 10, 5
"""Levels that every method tries before the time is looked at, and groups of them at most."""
MAX_EXPANSIONS = 2_000
SEED = 1_000_033
HALF, MOST = 0.5, 0.8
"""Good subgoals need at most this share of expansions and solve this share of levels alone."""
NOISE = 0.05
"""Methods that solve nearly as many levels, within this share, solve equally many."""
FEWEST_COMMON = 5
"""Levels solved with subgoals and without, from which on their costs are compared."""
LIMITS = (Outcome.OUT_OF_TIME, Outcome.OUT_OF_EXPANSIONS, Outcome.OUT_OF_MEMORY)


@dataclass(frozen=True, slots=True)
class Tried:
    """The results of one method.

    Attributes:
        method: its name.
        levels: number of levels.
        solved: of them, within the limits.
        undecided: of them, those whose search ended at a limit.
        expansions: mean over the levels solved both with subgoals and without; 0 for none.
        seconds: mean over the same levels.
        common: the number of these levels.
    """

    method: str
    levels: int
    solved: int
    undecided: int
    expansions: float
    seconds: float
    common: int

    @classmethod
    def of(cls, method: str, results: Sequence[Result], common: Bools) -> Tried:
        """The summary of some results, of which `common` are compared."""
        costs = np.array([[r.statistics.expansions, r.statistics.seconds] for r in results])
        expansions, seconds = costs[common].mean(axis=0) if common.any() else (0.0, 0.0)
        return cls(
            method,
            len(results),
            sum(result.solved for result in results),
            sum(result.outcome in LIMITS for result in results),
            round(float(expansions), 2),
            round(float(seconds), 5),
            int(common.sum()),
        )

    def text(self) -> str:
        """One line."""
        limited = f" ({self.undecided} undecided at a limit)" if self.undecided else ""
        found = f"{methods.get(self.method).label}: solved {self.solved} of {self.levels}{limited}"
        if not self.common:
            return found
        costs = f"{self.expansions:.1f} expansions and {1000 * self.seconds:.1f} ms a level"
        where = "" if self.common == self.levels else f" on the {self.common} comparable ones"
        return f"{found}, {costs}{where}"


def compared(parts: Collection[str]) -> list[str]:
    """The methods of a trial that a model with these parts allows."""
    return [name for name in METHODS if set(methods.get(name).parts) <= set(parts)]


def run_trial(
    model: Path, domain: Domain, card: Card, seconds: float, threads: int | None = None
) -> dict[str, Tried]:
    """Solves the same fresh levels with every compared method that the model's parts allow.

    Groups of levels are added while the next one fits into `seconds`; the first always runs, with
    limits a level that keep it within them.
    """
    began = time.monotonic()
    names = compared(card.parts)
    rng = stream(SEED, "trial", domain.name)
    execution = Execution(threads=threads)
    planners = {
        name: Planner(domain, Choice(method=name, model=model, execution=execution))
        for name in names
    }
    results: dict[str, list[Result]] = {name: [] for name in names}
    longest = 0.0
    for group in range(GROUPS):
        left = seconds - (time.monotonic() - began)
        if group and longest > left:
            break
        started = time.monotonic()
        limit = Budget(MAX_EXPANSIONS, max(0.0, left) / (GROUP * len(METHODS)))
        _solve_group(planners, list(domain.sample(rng, GROUP)), limit, results)
        longest = max(longest, time.monotonic() - started)
    return summarise(results)


def _solve_group(
    planners: Mapping[str, Planner],
    grids: list[Grid],
    limit: Budget,
    results: Mapping[str, list[Result]],
) -> None:
    """Adds every method's results on some levels."""
    for name, planner in planners.items():
        results[name].extend(planner.solve_many(grids, limit))


def summarise(results: Mapping[str, Sequence[Result]]) -> dict[str, Tried]:
    """Every method's results, with costs on the levels solved with subgoals and without."""
    count = len(next(iter(results.values()), ()))
    common = np.ones(count, dtype=np.bool_)
    for name in (BOTH, SINGLE):
        common &= [one.solved for one in results.get(name, ())] or np.zeros(count, dtype=np.bool_)
    return {name: Tried.of(name, found, common) for name, found in results.items()}


def judge_trial(tried: Mapping[str, Tried]) -> Verdict | None:
    """Whether subgoals are worth their price; None if the trial cannot tell."""
    if not set(METHODS) <= set(tried):
        return None
    both, alone, single = (tried[name] for name in METHODS)
    ahead = (both.solved - single.solved) / max(1, both.levels)
    if abs(ahead) > NOISE:
        return _by_levels(both, alone, single)
    if both.common < FEWEST_COMMON:
        return None
    share = both.expansions / max(single.expansions, 1e-9)
    pace = both.seconds / max(single.seconds, 1e-9)
    reason = (
        f"with them the search needs {share:.0%} of the expansions and {pace:.0%} of the time of "
        f"single actions; alone they solve {alone.solved} of {alone.levels}"
    )
    return Verdict(JUMPING, _level(alone, share, pace), reason, _advice(share))


def why_undecided(tried: Mapping[str, Tried]) -> str:
    """Why `judge_trial` cannot tell; empty if a compared method is missing or it can."""
    if not set(METHODS) <= set(tried) or judge_trial(tried) is not None:
        return ""
    both, _, single = (tried[name] for name in METHODS)
    return (
        f"the trial decides nothing: with subgoals {both.solved} of {both.levels} levels were "
        f"solved within its limits and with single actions {single.solved}, {both.common} by both; "
        f"{FEWEST_COMMON} are needed"
    )


def _by_levels(both: Tried, alone: Tried, single: Tried) -> Verdict:
    """The verdict if one search solves clearly more levels than the other."""
    reason = (
        f"with them the search solves {both.solved} of {both.levels} levels, with single actions "
        f"{single.solved}; alone they solve {alone.solved}"
    )
    if both.solved < single.solved:
        return Verdict(JUMPING, "useless", reason, _advice(1.0))
    good = alone.solved >= MOST * alone.levels
    return Verdict(JUMPING, "good" if good else "weak", reason, "" if good else _advice(1.0))


def _level(alone: Tried, share: float, pace: float) -> Level:
    if share >= 1.0 and pace > 1.0:
        return "useless"
    good = share <= HALF and pace <= 1.0 and alone.solved >= MOST * alone.levels
    return "good" if good else "weak"


def _advice(share: float) -> str:
    if share <= HALF:
        return ""
    return "train the subgoals longer, or change the horizon (more steps ahead, fewer expansions)"


def describe(tried: Mapping[str, Tried]) -> dict[str, Any]:
    """The trial as a card's entry."""
    entries = {name: asdict(one) for name, one in tried.items()}
    return {"seed": SEED, "max_expansions": MAX_EXPANSIONS, **entries}
