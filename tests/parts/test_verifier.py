"""The verifier learns from the policy's own attempts."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import torch

from hips import domains, parts
from hips.models.runtime import GraphRuntime
from hips.parts.verifier.adapter import LearnedVerifier
from hips.parts.verifier.attempts import Attempts, attempt, propose
from hips.parts.verifier.network import VerifierNetwork
from hips.parts.verifier.train import VerifierStage
from hips.planner.reaching import VerifiedReach
from hips.planner.rollouts import RolloutLimits, Simulator
from hips.training.config import default_config
from hips.training.corpus import Augmenter, Corpus
from hips.training.schedule import Schedule
from tests.models.untrained import untrained, workshop


def test_attempts_are_labelled_by_what_the_policy_does(
    tiles: domains.Domain, corpus: Corpus, tmp_path: Path
) -> None:
    """Subgoals of one step, and the same with two tiles swapped, which nobody can reach."""
    config = default_config(tiles, parts.known(("adasubs", "reach_policy")), "smoke")
    work = workshop(tiles, config, untrained(tiles, config), tmp_path, corpus)
    runtime = work.runtime("adasubs", "reach_policy")
    starts = corpus.decisions[:64]
    states, near = corpus.states[starts], corpus.states[starts + 1]
    swapped = np.where(near == 1, 2, np.where(near == 2, 1, near)).astype(np.uint8)
    tried = attempt(tiles, runtime, states, near, 12)
    assert tried.reached.shape == (64,)
    assert tried.reached.any()
    assert not attempt(tiles, runtime, states, swapped, 12).reached.any()
    origins, subgoals = propose(tiles, runtime, states[:8])
    assert origins.shape == subgoals.shape
    assert (origins != subgoals).any(axis=(1, 2)).all()
    assert tiles.is_legal(subgoals, origins).all()


def test_what_it_learned_decides_between_the_bands(tiles: domains.Domain, corpus: Corpus) -> None:
    """Trained on reachable and unreachable subgoals, it accepts, rejects or has them tried."""
    starts = corpus.decisions[:256]
    states, near = corpus.states[starts], corpus.states[starts + 1]
    parity = np.where(near == 1, 2, np.where(near == 2, 1, near)).astype(np.uint8)
    pairs = Attempts(
        np.concatenate([states, states]),
        np.concatenate([near, parity]),
        np.repeat([True, False], len(starts)),
    )
    part = parts.get("verifier")
    torch.manual_seed(0)
    network = cast(VerifierNetwork, part.build(tiles.spec, part.configure(tiles, "smoke"), 5))
    stage = VerifierStage(Schedule(), network, Augmenter(tiles, tiles.symmetries()), pairs, pairs)
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    network.train()
    for step in range(60):
        optimiser.zero_grad()
        stage.objective(stage.batch(np.random.default_rng(step), 64))[0].backward()
        optimiser.step()
    network.eval()
    with torch.no_grad():
        assert stage.validate()["accuracy"] > 0.95

    def graph(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        with torch.no_grad():
            return [network(*(torch.from_numpy(value) for value in inputs.values())).numpy()]

    verifier = LearnedVerifier(GraphRuntime({"verifier": graph}))  # type: ignore[dict-item]
    found = verifier.probabilities(pairs.states, pairs.subgoals)
    low, high = np.quantile(found, [0.25, 0.75])
    from hips.planner.policies import NearestStepPolicy

    reacher = VerifiedReach(
        NearestStepPolicy(tiles), verifier, RolloutLimits(3), 2, float(low), float(high)
    )
    simulator = Simulator(tiles.step, tiles.is_goal)
    walked = reacher.reach(simulator, pairs.states, pairs.subgoals, np.arange(len(pairs.states)))
    assert walked.exact is not None
    accepted, rejected = found >= high, found <= low
    assert walked.success[accepted].all()
    assert not walked.exact[accepted].any()
    assert not walked.success[rejected].any()
    assert (walked.simulated[accepted | rejected] == 0).all()
    between = ~accepted & ~rejected
    np.testing.assert_array_equal(walked.success[between], pairs.reached[between])
