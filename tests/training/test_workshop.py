"""What stages are built from: pairs of states and subgoals, kept with the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hips.data import Demonstrations
from hips.errors import DatasetError, ModelError, UnknownNameError
from hips.parts.heuristic import train as heuristic
from hips.seeding import stream
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from hips.training.workshop import Workshop
from tests.models.untrained import untrained, workshop


def make_workshop(
    config: TrainingConfig, demos: Demonstrations, folder: Path, method: str
) -> Workshop:
    chosen = [f"segmentation.method={method}", "horizon=3", "segmentation.most=20"]
    config = override(config, chosen)
    domain = demos.domain
    work = workshop(domain, config, untrained(domain, config), folder)
    work.train, work.valid = (
        Corpus.build(demos.trajectories(split), domain) for split in ("train", "validation")
    )
    return work


def test_events_give_the_pairs_of_all_trajectories(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    """In the puzzle every move can be undone, so subgoals are a horizon on."""
    work = make_workshop(config, demos, tmp_path, "events")
    train, valid = work.pairs()
    for pairs, corpus in ((train, work.train), (valid, work.valid)):
        assert len(pairs.corpus.offsets) == len(corpus.offsets)
        expected = np.minimum(np.arange(len(corpus.last)) + 3, corpus.last)
        assert (pairs.following == expected).all()
    batch = train.draw(stream(0, "pairs"), 32, augment=False)
    assert (batch["states"] != batch["subgoals"]).flatten(1).any(dim=1).all()


@pytest.mark.parametrize("method", ["exact", "detector"])
def test_segmentations_that_score_all_pairs_take_few_trajectories(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path, method: str
) -> None:
    work = make_workshop(config, demos, tmp_path, method)
    pairs = work.pairs()[0]
    assert len(pairs.corpus.offsets) - 1 == 20 < len(work.train.offsets) - 1
    distance = pairs.following - np.arange(len(pairs.following))
    ends = pairs.corpus.last == np.arange(len(pairs.following))
    assert (distance[ends] == 0).all()
    assert ((distance[~ends] >= 1) & (distance[~ends] <= 3)).all()


@pytest.mark.parametrize("mirrored", [False, True])
def test_the_heuristic_alone_can_learn_from_mirror_images(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path, mirrored: bool
) -> None:
    config = override(config, [f"heuristic.mirrored={str(mirrored).lower()}"])
    work = make_workshop(config, demos, tmp_path, "events")
    work.train = replace(work.train, symmetries=())
    batch = heuristic.build(work).batch(stream(0, "mirrored"), 64)
    demonstrated = {state.tobytes() for state in work.train.states}
    assert all(one.numpy().tobytes() in demonstrated for one in batch["states"]) != mirrored


def test_a_segmentation_is_kept_and_belongs_to_its_demonstrations(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    first = make_workshop(config, demos, tmp_path, "events").pairs()[0]
    path = tmp_path / "segmentation-events-train.npz"
    np.savez(path, following=np.maximum(first.following - 1, 0))
    again = make_workshop(config, demos, tmp_path, "events").pairs()[0]
    assert (again.following == np.maximum(first.following - 1, 0)).all()
    np.savez(path, following=first.following[:-1])
    with pytest.raises(DatasetError, match="other demonstrations"):
        make_workshop(config, demos, tmp_path, "events").pairs()


def test_unknown_segmentations_list_what_there_is(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    with pytest.raises(UnknownNameError, match=r"'guess'.*events, detector, distilled, exact"):
        make_workshop(config, demos, tmp_path, "guess").pairs()


def test_a_part_that_is_not_there_is_named(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    work = make_workshop(config, demos, tmp_path, "exact")
    others = {name: one for name, one in work.networks.items() if name != "reach_policy"}
    with pytest.raises(ModelError, match="needs the part 'reach_policy', which is missing"):
        replace(work, networks=others).pairs()
