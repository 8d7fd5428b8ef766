"""A trial of a new model: its subgoals against a search over single actions, on fresh levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hips import methods
from hips.domains.base import Domain
from hips.methods.base import Execution
from hips.methods.planner import Choice, Planner
from hips.models.card import Card
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.seeding import stream
from hips.training.verdict import Level, Verdict

METHODS = ("hips_eps", "hips", "phs_star")
"""Compared methods: complete with subgoals, subgoals alone, single actions."""
JUMPING = "subgoals"
"""The part whose worth the trial shows."""
LEVELS = 50
BUDGET = Budget(max_expansions=2_000, max_seconds=10.0)
SEED = 1_000_033
HALF, ALONE = 0.5, 0.8
"""Good subgoals need at most this share of expansions and solve this share of levels alone."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The results of one method.

    Attributes:
        method: its name.
        levels: number of levels.
        solved: of them, within the limits.
        expansions: mean over all levels.
        seconds: mean over all levels.
    """

    method: str
    levels: int
    solved: int
    expansions: float
    seconds: float

    @classmethod
    def of(cls, method: str, results: Sequence[Result]) -> Tried:
        """The summary of some results."""
        return cls(
            method,
            len(results),
            sum(result.outcome is Outcome.SOLVED for result in results),
            round(float(np.mean([result.statistics.expansions for result in results])), 2),
            round(float(np.mean([result.statistics.seconds for result in results])), 5),
        )

    def text(self) -> str:
        """One line."""
        label = methods.get(self.method).label
        return (
            f"{label}: solved {self.solved} of {self.levels}, {self.expansions:.1f} expansions and "
            f"{1000 * self.seconds:.1f} ms a level"
        )


def run_trial(
    model: Path, domain: Domain, card: Card, levels: int = LEVELS, threads: int | None = None
) -> dict[str, Tried]:
    """Solves the same fresh levels with every compared method that the model's parts allow."""
    grids = list(domain.sample(stream(SEED, "trial", domain.name), levels))
    tried = {}
    for name in METHODS:
        if not set(methods.get(name).parts) <= set(card.parts):
            continue
        choice = Choice(method=name, model=model, execution=Execution(threads=threads))
        planner = Planner(domain, choice)
        planner.solve_many(grids[:1], replace(BUDGET, max_expansions=1))  # loads the graphs
        tried[name] = Tried.of(name, planner.solve_many(grids, BUDGET))
    return tried


def judge_trial(tried: dict[str, Tried]) -> Verdict | None:
    """Whether subgoals are worth their price; None if the model lacks a compared method."""
    if not set(METHODS) <= set(tried):
        return None
    both, alone, single = (tried[name] for name in METHODS)
    share = both.expansions / max(single.expansions, 1e-9)
    faster = both.seconds <= single.seconds
    reason = (
        f"with them the search needs {share:.0%} of the expansions and "
        f"{both.seconds / max(single.seconds, 1e-9):.0%} of the time of single actions; alone they "
        f"solve {alone.solved} of {alone.levels}"
    )
    return Verdict(JUMPING, _level(both, alone, single, share, faster), reason, _advice(share))


def _level(both: Tried, alone: Tried, single: Tried, share: float, faster: bool) -> Level:
    if both.solved > single.solved:
        return "good" if alone.solved >= ALONE * alone.levels else "weak"
    if both.solved < single.solved or (share >= 1.0 and not faster):
        return "useless"
    good = share <= HALF and faster and alone.solved >= ALONE * alone.levels
    return "good" if good else "weak"


def _advice(share: float) -> str:
    if share <= HALF:
        return ""
    return "train the subgoals longer, or change the horizon (more steps ahead, fewer expansions)"


def describe(tried: dict[str, Tried]) -> dict[str, Any]:
    """The trial as a card's entry."""
    return {"seed": SEED, "budget": asdict(BUDGET), **{k: asdict(v) for k, v in tried.items()}}
