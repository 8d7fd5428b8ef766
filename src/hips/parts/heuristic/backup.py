"""One-step backups along the demonstrations: what better decisions would have cost.

The remaining steps of a wandering demonstrator are a noisy upper bound of the distance. Where ĥ of
a later state is less than what the demonstrator went on to need, its later decisions were worse
than usual, and the estimate takes their place. No simulator is asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numba import njit

from hips.arrays import Floats, Ints
from hips.data.labels import StateLabels
from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.parts.heuristic.config import HeuristicConfig
from hips.parts.heuristic.network import HeuristicNetwork
from hips.parts.heuristic.targets import cached, find_targets
from hips.parts.heuristic.train import HeuristicStage, find_augmenter
from hips.training.corpus import Corpus
from hips.training.workshop import Workshop


@njit(cache=True)
def back_up(estimates: Floats, offsets: Ints) -> Floats:
    """The least of ĥ(s_t) and 1 + the same of s_{t+1}, 0 at the end of a trajectory, `[S]`.

    That is the minimum over all later states of the steps to them and ĥ from there.

    Args:
        estimates: `[S]`, ĥ of the states of all trajectories.
        offsets: `[N + 1]`, where each trajectory starts.
    """
    targets = np.empty_like(estimates)
    for n in range(len(offsets) - 1):
        last = offsets[n + 1] - 1
        targets[last] = 0.0
        for place in range(last - 1, offsets[n] - 1, -1):
            targets[place] = min(estimates[place], 1.0 + targets[place + 1])
    return targets


def build(workshop: Workshop) -> HeuristicStage:
    """The stage of a run: ĥ learns on, from what it backs up as the stage before left it."""
    config: HeuristicConfig = workshop.config.parts["heuristic"]
    targets = find_targets(workshop)
    train, valid = workshop.visited
    return HeuristicStage(
        replace(config, training=config.backup),
        cast(HeuristicNetwork, workshop.network("heuristic")),
        None,
        find_augmenter(workshop),
        replace(
            targets,
            train=_backed_up(workshop, "train", train),
            valid=_backed_up(workshop, "validation", valid),
        ),
    )


def _backed_up(workshop: Workshop, split: str, corpus: Corpus) -> StateLabels:
    """The demonstrated states with their backed-up targets."""

    def make() -> StateLabels:
        workshop.message(f"backing up the distances along the demonstrations ({split} split)")
        estimates = LearnedHeuristic(workshop.runtime("heuristic")).distances(corpus.states)
        targets = back_up(np.maximum(estimates, 0.0), corpus.offsets)
        return StateLabels(corpus.states, np.rint(targets).astype(np.int32), {})

    return cached(workshop, f"backed-up-{split}", make)
