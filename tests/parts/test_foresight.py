"""Segmentation into subgoals that a first generator foresees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hips import parts
from hips.data.dataset import Trajectories
from hips.errors import ConfigError
from hips.models.runtime import GraphRuntime
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals.adapter import ENCODER, decode
from hips.parts.subgoals.foresight import ForeseenSegmenter, foreseen_pairs, subgoal_log_likelihood
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from hips.training.pipeline import ordered_stages
from hips.training.segmenters import SegmentationTask
from hips.training.segments import best_segmentation, follow_chain, mean_segment, pair_log_pi
from tests.models.untrained import untrained, workshop

HORIZON = 3
PARTS = "prior", "reach_policy", "subgoals"


@pytest.fixture(name="runtime")
def fixture_runtime(config: TrainingConfig, corpus: Corpus) -> GraphRuntime:
    networks = untrained(corpus.domain, config)
    return workshop(corpus.domain, config, networks, Path(), corpus).runtime(*PARTS)


@pytest.fixture(name="few")
def fixture_few(corpus: Corpus) -> Trajectories:
    whole = corpus.trajectories
    last = int(whole.offsets[4])
    return Trajectories(whole.states[:last], whole.actions[:last], whole.offsets[:5])


def task(
    config: TrainingConfig,
    corpus: Corpus,
    few: Trajectories,
    runtime: GraphRuntime,
    foresight: float,
) -> SegmentationTask:
    chosen = replace(config.segmentation, foresight=foresight, penalty=0.3)
    return SegmentationTask(corpus.domain, few, HORIZON, chosen, runtime)


def test_the_likelihood_is_that_of_the_code_and_of_every_cell(
    few: Trajectories, runtime: GraphRuntime
) -> None:
    likelihood = subgoal_log_likelihood(runtime, few.states)
    for i, j in ((0, 1), (0, 3), (5, 6)):
        state, subgoal = few.states[i : i + 1], few.states[j : j + 1]
        (code,) = runtime.rowwise(ENCODER, states=state, subgoals=subgoal)
        scores = decode(runtime, state, np.array([0]), code.astype(np.int64))[0]
        chances = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        cells = [chances[y, x, subgoal[0, y, x]] for y, x in np.ndindex(*subgoal.shape[1:])]
        codes, _ = LearnedPrior(runtime).evaluate(state)
        expected = codes[0, int(code[0])] + np.log(cells).sum()
        assert np.isclose(likelihood(np.array([i]), np.array([j]))[0], expected, atol=1e-4)


def test_without_foresight_it_is_the_exact_segmentation(
    config: TrainingConfig, corpus: Corpus, few: Trajectories, runtime: GraphRuntime
) -> None:
    log_pi = pair_log_pi(LearnedReachPolicy(runtime).next_action, few, HORIZON)
    found = ForeseenSegmenter().following(task(config, corpus, few, runtime, 0.0))
    assert (found == best_segmentation(log_pi, few.offsets, 0.3)[0]).all()


def test_foreseen_subgoals_are_likelier_the_more_that_counts(
    config: TrainingConfig, corpus: Corpus, few: Trajectories, runtime: GraphRuntime
) -> None:
    likelihood = subgoal_log_likelihood(runtime, few.states)
    totals = []
    for foresight in (0.0, 0.1, 100.0):
        following = ForeseenSegmenter().following(task(config, corpus, few, runtime, foresight))
        rows = np.flatnonzero(follow_chain(following, few.offsets)[1])
        totals.append(likelihood(rows, following[rows]).sum())
    assert totals[0] <= totals[1] <= totals[2]
    assert totals[0] < totals[2]


def test_generator_and_prior_learn_on_from_foreseen_subgoals(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    chosen = override(config, ["segmentation.foresight=0.1", "segmentation.method=exact"])
    every = {name: parts.get(name) for name in chosen.parts}
    names = [spec.name for spec in ordered_stages(every, chosen)]
    order = ["subgoals.discrete", "prior.training", "subgoals.foreseen", "prior.foreseen"]
    assert sorted(order, key=names.index) == order
    work = workshop(corpus.domain, chosen, untrained(corpus.domain, chosen), tmp_path, corpus)
    train, _ = foreseen_pairs(work)
    first, _ = work.pairs()
    assert mean_segment(train.following, train.corpus.offsets) >= 1.0
    assert (train.following != first.following).any()
    assert (tmp_path / "segmentation-foreseen-train.npz").exists()


def test_by_default_there_is_one_segmentation(config: TrainingConfig) -> None:
    every = {name: parts.get(name) for name in config.parts}
    assert not [spec for spec in ordered_stages(every, config) if "foreseen" in spec.name]
    with pytest.raises(ConfigError, match=r"segmentation\.foresight must be 0 or more"):
        override(config, ["segmentation.foresight=-1"])
