"""The subgoals a search would try: what the final generator proposes near demonstrations."""

from __future__ import annotations

import numpy as np
import torch

from hips.domains import Grids
from hips.models.networks.assembly import Networks
from hips.models.networks.torch_runtime import TorchRuntime
from hips.planner.expander import usable_targets
from hips.planner.learned import learned_generator
from hips.training.corpus import Corpus
from hips.training.dynamics import wander

STATES_AT_ONCE = 16
MAX_ROUNDS = 64
"""How often states are drawn before a generator without usable proposals is given up."""


class ProposedPairs:
    """Pairs of a state and a distinct legal subgoal that is decoded there."""

    def __init__(self, networks: Networks, corpus: Corpus, device: torch.device) -> None:
        self.corpus = corpus
        domain = corpus.domain
        self.generator = learned_generator(
            domain, TorchRuntime(networks, str(device)), domain.preset.mass
        )

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Grids, Grids]:
        """At most `size` pairs, both `[M, H, W]`; fewer only if hardly anything is decoded."""
        states: list[Grids] = []
        targets: list[Grids] = []
        found = rounds = 0
        while found < size and rounds < MAX_ROUNDS:
            origins, decoded = self._round(rng)
            states.append(origins)
            targets.append(decoded)
            found += len(origins)
            rounds += 1
        chosen = rng.permutation(found)[:size]
        return np.concatenate(states)[chosen], np.concatenate(targets)[chosen]

    def _round(self, rng: np.random.Generator) -> tuple[Grids, Grids]:
        states = wander(self.corpus, rng, STATES_AT_ONCE)
        proposals = usable_targets(self.corpus.domain, states, self.generator.propose(states))
        assert proposals.targets is not None
        return states[proposals.parents], proposals.targets
