from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch

from hips.data.labels import DEAD_END, StateLabels
from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape
from hips.parts.heuristic.config import HeuristicConfig
from hips.parts.heuristic.network import HeuristicNetwork
from hips.parts.heuristic.targets import find_targets
from hips.parts.heuristic.train import HeuristicStage, build, stages
from hips.seeding import stream
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from tests.models.untrained import untrained, workshop


def stage(config: TrainingConfig, corpus: Corpus, labels: StateLabels | None) -> HeuristicStage:
    domain = corpus.domain
    work = workshop(domain, config, untrained(domain, config), Path(), corpus)
    work.labels = labels
    return build(work)


def test_half_of_a_batch_is_labelled(config: TrainingConfig, corpus: Corpus) -> None:
    labels = StateLabels(corpus.states[:1], np.array([DEAD_END], dtype=np.int32), {})
    batch = stage(config, corpus, labels).batch(stream(0, "x"), 64)
    far = float(config.parts["heuristic"].max_distance)
    assert batch["states"].shape[0] == 64
    assert (batch["remaining"] == far).sum() == 32
    assert (batch["remaining"] >= 0).all()


def test_without_labels_only_demonstrations_are_drawn(
    config: TrainingConfig, corpus: Corpus
) -> None:
    batch = stage(config, corpus, None).batch(stream(0, "x"), 64)
    assert batch["remaining"].max() <= corpus.remaining.max()


def test_the_trunk_starts_from_the_priors(config: TrainingConfig, corpus: Corpus) -> None:
    made = stage(config, corpus, None)
    made.prepare()
    for name, value in made.trunk.state_dict().items():
        assert torch.equal(value, made.heuristic.trunk.state_dict()[name]), name


def test_a_trunk_of_its_own_size_starts_at_random(config: TrainingConfig, corpus: Corpus) -> None:
    larger = override(config, ["heuristic.trunk.channels=24", "heuristic.trunk.blocks=3"])
    made = stage(larger, corpus, None)
    before = {name: value.clone() for name, value in made.heuristic.state_dict().items()}
    made.prepare()
    assert made.heuristic.trunk.stem.out_channels == 24
    assert made.trunk.stem.out_channels == config.parts["prior"].trunk.channels
    for name, value in made.heuristic.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_deeper_trunk_begins_as_the_priors(config: TrainingConfig, corpus: Corpus) -> None:
    plain = override(config, ["heuristic.trunk.blocks=4"])
    made = stage(plain, corpus, None)
    made.prepare()
    made.objective.eval()
    made.trunk.eval()
    planes = made.heuristic.planes(torch.from_numpy(corpus.states[:8]))
    assert len(made.heuristic.trunk.blocks) > len(made.trunk.blocks)
    assert torch.equal(made.heuristic.trunk(planes), made.trunk(planes))


def test_labelled_states_are_held_out_and_scored(config: TrainingConfig, corpus: Corpus) -> None:
    count = len(corpus.states)
    labels = StateLabels(corpus.states, np.full(count, DEAD_END, dtype=np.int32), {})
    made = stage(config, corpus, labels)
    assert made.labels is not None
    assert made.held_out is not None
    assert len(made.labels) + len(made.held_out) == count
    learned = {state.tobytes() for state in made.labels.states}
    assert not any(state.tobytes() in learned for state in made.held_out.states)
    with torch.no_grad():
        scores, plain = made.validate(), stage(config, corpus, None).validate()
    assert "labelled" not in plain
    assert scores["score"] == pytest.approx((plain["score"] + scores["labelled"]) / 2)


def test_shortcuts_replace_the_remaining_steps_once(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    wanted = override(config, ["heuristic.shortcuts=true", "heuristic.stitching_model=true"])
    domain = corpus.domain
    work = workshop(domain, wanted, untrained(domain, wanted), tmp_path, corpus)
    first, again = find_targets(work), find_targets(work)
    assert (first.train.remaining <= corpus.remaining).all()
    assert (first.train.remaining[corpus.remaining == 0] == 0).all()
    assert (first.train.remaining == again.train.remaining).all()
    assert {path.name for path in tmp_path.glob("*.npz")} == {
        "shortcuts-train.npz",
        "shortcuts-valid.npz",
    }


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ([], False),
        (["heuristic.shortcuts=true"], True),
        (["heuristic.stitched=3"], True),
        (["heuristic.shortcuts=true", "heuristic.stitching_model=true"], False),
    ],
)
def test_targets_of_the_learned_dynamics_wait_for_them(
    config: TrainingConfig, settings: list[str], needed: bool
) -> None:
    (spec,) = stages(override(config, settings))
    assert ("dynamics.training" in spec.needs) is needed


def _distances(heuristic: HeuristicNetwork, mixtures: list[dict[int, float]]) -> list[float]:
    """What is read from chances of some distances, the rest of them being 0."""
    chances = torch.zeros(len(mixtures), len(heuristic.centres))
    for row, mixture in enumerate(mixtures):
        for distance, chance in mixture.items():
            chances[row, (heuristic.centres - distance).abs().argmin()] = chance
    with patch.object(heuristic, "logits", return_value=chances.log()):
        return [float(value) for value in heuristic(torch.zeros(1))]


def test_a_likely_dead_end_waits_behind_every_living_state() -> None:
    heuristic = HeuristicNetwork(GridShape(4, 4, 3, 2), TrunkConfig(8, 1), max_distance=128)
    far = heuristic.max_distance
    living, doubtful, likely, sure = _distances(
        heuristic,
        [{20: 1.0}, {20: 0.6, far: 0.4}, {20: 0.1, far: 0.9}, {20: 1e-4, far: 1 - 1e-4}],
    )
    assert living == pytest.approx(20, abs=1)
    assert doubtful == pytest.approx(0.6 * 20 + 0.4 * far, abs=1)
    assert doubtful < far < likely < sure < 20 * far
    assert likely == pytest.approx(0.1 * 20 + 0.9 * far + far * math.log(5), rel=0.02)


def test_without_a_prior_the_trunk_is_its_own(config: TrainingConfig, corpus: Corpus) -> None:
    alone = replace(config, parts={"heuristic": config.parts["heuristic"]})
    made = stage(alone, corpus, None)
    assert made.trunk is None
    before = {name: value.clone() for name, value in made.heuristic.state_dict().items()}
    made.prepare()
    for name, value in made.heuristic.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_spread_beyond_the_depth_of_the_search_is_refused() -> None:
    assert HeuristicConfig(stitching_depth=2, stitching_spread=3).stitching_spread == 3
    with pytest.raises(ConfigError, match=r"at most 3, or a greater heuristic\.stitching_depth"):
        HeuristicConfig(stitching_depth=2, stitching_spread=4)


def test_walks_need_demonstrations_to_leave() -> None:
    assert HeuristicConfig(stitched=10, walks=4).walks == 4
    with pytest.raises(ConfigError, match=r"give it as well, e\.g\. heuristic\.stitched=300"):
        HeuristicConfig(walks=4)
