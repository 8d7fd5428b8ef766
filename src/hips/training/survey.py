"""A look at a domain before training: what its actions change, and how long its plans are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hips import data
from hips.arrays import Actions, Bools, Grid, Grids, Ints
from hips.data.dataset import Trajectories, encode_actions, replay_plans, to_offsets
from hips.domains.base import Domain, Preset
from hips.errors import ConfigError, DatasetError, ExpertError
from hips.seeding import stream
from hips.statistics import perplexity

LEVELS, FEW_LEVELS = 64, 8
"""Levels to survey if plans determine the defaults, and if the domain has a preset."""
FAILURES = 8
"""Levels that the expert may fail on before the survey makes do with what it has."""
VAIN = 3
"""Levels that it fails on, and solves none, before it counts as none; each may take long."""
WALK = 16
NEAR = 2
"""Rows and columns that the cells changed by a local action are apart at most."""
MANY = 0.3
"""Share of actions that change distant cells from which neighbours no longer matter most."""
MOST = 0.9
FEWEST_CODES, MOST_CODES = 16, 128
SUBGOALS_PER_PLAN = 4
SHORTEST_HORIZON, LONGEST_HORIZON = 2, 10
DEMONSTRATED_STATES = 100_000
FEWEST_DEMONSTRATIONS, MOST_DEMONSTRATIONS = 2_000, 10_000


@dataclass(frozen=True, slots=True)
class Survey:
    """Statistics of random transitions and of a few demonstrations.

    Attributes:
        changing: share of random actions that change the state.
        changed: mean number of cells that such an action changes.
        far: share of them whose changed cells are more than `NEAR` rows or columns apart.
        permuting: share of them that keep the number of cells of every symbol.
        length: mean length of the demonstrations.
        ways: by distance d from 1, the effective number of different sequences of d actions.
    """

    changing: float
    changed: float
    far: float
    permuting: float
    length: float
    ways: tuple[float, ...]

    @property
    def local(self) -> bool:
        """Whether actions change cells that are near each other."""
        return self.far < MANY

    @property
    def copying(self) -> bool:
        """Whether actions move symbols between distant cells without changing them."""
        return not self.local and self.permuting >= MOST

    def reason(self, mixing: bool) -> str:
        """Why networks are convolutions, or mix all cells, in one line."""
        kind = "dense layers over all cells" if mixing else "convolutions"
        near = f"{self.far:.0%} of actions change cells more than {NEAR} apart"
        cells = f"{self.changed:.1f} cells on average"
        moved = "; they move symbols without changing them" if self.permuting >= MOST else ""
        return f"{kind}, because {near} ({cells}){moved}"

    def horizon(self) -> int:
        """H such that a plan has a few subgoals."""
        wanted = round(self.length / SUBGOALS_PER_PLAN)
        return int(np.clip(wanted, SHORTEST_HORIZON, LONGEST_HORIZON))

    def num_codes(self) -> int:
        """K: a power of two with room for the ways in which demonstrators take H steps."""
        ways = self.ways[min(self.horizon(), len(self.ways)) - 1]
        return int(np.clip(2 ** np.ceil(np.log2(max(2.0, ways))), FEWEST_CODES, MOST_CODES))

    def demonstrations(self) -> int:
        """Enough of them to have many states."""
        wanted = DEMONSTRATED_STATES / max(1.0, self.length)
        return int(np.clip(wanted, FEWEST_DEMONSTRATIONS, MOST_DEMONSTRATIONS))


def take_survey(domain: Domain, folders: Sequence[Path] = (), seed: int = 0) -> Survey:
    """Surveys a domain on demonstrations in `folders`, or on a few of its expert's.

    Raises:
        ConfigError: actions never change anything, or there is neither data nor an expert.
    """
    rng = stream(seed, "survey", domain.name)
    levels = FEW_LEVELS if has_preset(domain) else LEVELS
    shown = _given(folders) if folders else _demonstrated(domain, rng, levels)
    before, after = _transitions(domain, shown.states, rng)
    differs: Bools = before != after
    moved = differs.any(axis=(1, 2))
    if not moved.any():
        raise ConfigError(
            f"'{domain.name}': none of {len(before):,} random actions changes the state, so there "
            "is nothing to learn. Check `step`."
        )
    differs, before, after = differs[moved], before[moved], after[moved]
    return Survey(
        changing=float(moved.mean()),
        changed=float(differs.sum(axis=(1, 2)).mean()),
        far=float((_spread(differs) > NEAR).mean()),
        permuting=float(_permuted(before, after).mean()),
        length=float(np.diff(shown.offsets).mean()) - 1,
        ways=_ways(shown),
    )


def has_preset(domain: Domain) -> bool:
    """Whether the domain recommends its own hyperparameters."""
    return type(domain).preset is not Domain.preset


def suggested(domain: Domain, survey: Survey | None) -> Preset:
    """The domain's own preset, or one that suits its demonstrations if it has none."""
    if survey is None or has_preset(domain):
        return domain.preset
    return Preset(
        horizon=survey.horizon(),
        num_codes=survey.num_codes(),
        demonstrations=survey.demonstrations(),
    )


def _given(folders: Sequence[Path]) -> Trajectories:
    shown = data.concatenate([data.load(folder) for folder in folders])
    if not len(shown):
        raise DatasetError("The datasets hold no demonstrations. Collect some with `hips collect`.")
    return shown.select(np.arange(min(LEVELS, len(shown)))).replay()


def _demonstrated(domain: Domain, rng: np.random.Generator, levels: int) -> Trajectories:
    starts, plans, reason, failures = list[Grid](), list[Actions](), "", 0
    while len(starts) < levels and failures < (FAILURES if starts else VAIN):
        state = domain.sample(rng, 1)[0]
        try:
            plans.append(domain.expert(state, rng, 1.0))
            starts.append(state)
        except ExpertError as error:
            reason, failures = str(error), failures + 1
    if not starts:
        raise ConfigError(
            f"The expert of '{domain.name}' solves none of its levels ({reason}). Write an "
            "`expert`, or give demonstrations of your own with --data."
        )
    offsets = to_offsets(np.array([len(plan) for plan in plans]))
    actions = encode_actions(np.concatenate(plans), domain.spec.num_actions)
    return replay_plans(domain, np.stack(starts), actions, offsets)


def _transitions(domain: Domain, states: Grids, rng: np.random.Generator) -> tuple[Grids, Grids]:
    """States of short random walks from demonstrated ones, and their successors."""
    current = states[rng.choice(len(states), size=min(len(states), 256))]
    before, after = list[Grids](), list[Grids]()
    for _ in range(WALK):
        actions = rng.integers(domain.spec.num_actions, size=len(current))
        following = domain.step(current, actions)
        before.append(current)
        after.append(following)
        current = following
    return np.concatenate(before), np.concatenate(after)


def _spread(differs: Bools) -> Ints:
    """Rows or columns, whichever is more, that the changed cells span, less one."""
    spans = []
    for axis in (2, 1):
        lines: Bools = np.asarray(differs.any(axis=axis))
        first, last = lines.argmax(axis=1), lines.shape[1] - 1 - lines[:, ::-1].argmax(axis=1)
        spans.append(last - first)
    return np.maximum(*spans)


def _permuted(before: Grids, after: Grids) -> Bools:
    flat = [np.sort(grids.reshape(len(grids), -1), axis=1) for grids in (before, after)]
    same: Bools = (flat[0] == flat[1]).all(axis=1)
    return same


def _ways(shown: Trajectories) -> tuple[float, ...]:
    found = []
    for distance in range(1, LONGEST_HORIZON + 1):
        sequences = [
            shown.actions[start : start + distance].tobytes()
            for first, stop in zip(shown.offsets[:-1], shown.offsets[1:], strict=True)
            for start in range(first, stop - distance)
        ]
        if not sequences:
            break
        found.append(perplexity(np.unique(sequences, return_counts=True)[1]))
    return tuple(found or (1.0,))
