"""Pairs that a search would try: legal, distinct, and the same for the same stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hips.domains import Grids
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.chunking import ProposedPairs
from hips.parts.subgoals.adapter import VqGenerator
from hips.planner.protocols import Proposals
from hips.seeding import stream
from hips.training.config import TrainingConfig
from hips.training.corpus import Corpus
from tests.models.untrained import untrained, workshop


@pytest.fixture
def pairs(config: TrainingConfig, corpus: Corpus, tmp_path: Path) -> ProposedPairs:
    domain = corpus.domain
    work = workshop(domain, config, untrained(domain, config), tmp_path, corpus)
    runtime = work.runtime("subgoals", "prior")
    return ProposedPairs(VqGenerator(domain, runtime, LearnedPrior(runtime)), corpus)


class EveryMove:
    """Proposes the state itself, what each action leads to, each twice, and a grid of zeros."""

    def __init__(self, pairs: ProposedPairs) -> None:
        self.domain = pairs.corpus.domain

    def propose(self, states: Grids) -> Proposals:
        count = self.domain.spec.num_actions
        actions = np.tile(np.arange(count), len(states))
        moved = self.domain.step(np.repeat(states, count, axis=0), actions)
        targets = np.concatenate([states, moved, moved, np.zeros_like(states)])
        parents = np.arange(len(states))
        each = np.repeat(parents, count)
        parents = np.concatenate([parents, each, each, parents])
        return Proposals(parents, np.zeros_like(parents), np.zeros(len(parents)), targets)


def test_pairs_are_legal_and_differ(pairs: ProposedPairs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "generator", EveryMove(pairs))
    states, targets = pairs.draw(stream(0, "pairs"), 200)
    assert len(states) == len(targets) == 200
    assert (states != targets).any(axis=(1, 2)).all()
    assert pairs.corpus.domain.is_legal(targets, states).all()
    # Sixteen states at a time have two to four neighbours each, and none is given twice.
    one_round, _ = pairs._round(stream(1, "pairs"))
    assert 2 * 16 <= len(one_round) <= 4 * 16


def test_the_same_stream_gives_the_same_pairs(pairs: ProposedPairs) -> None:
    first, again = (pairs.draw(stream(3, "pairs"), 20) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_generator_without_proposals_leaves_the_batch_to_the_demonstrators(
    pairs: ProposedPairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nothing:
        def propose(self, states: Grids) -> Proposals:
            none = np.zeros(0, dtype=np.int64)
            return Proposals(none, none, np.zeros(0), states[:0])

    monkeypatch.setattr(pairs, "generator", Nothing())
    states, targets = pairs.draw(stream(0, "pairs"), 8)
    assert len(states) == len(targets) == 0
