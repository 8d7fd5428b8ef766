"""Familiarity: what demonstrators avoid is found, without an expert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from hips.data.labels import DEAD_END
from hips.domains import Grids
from hips.parts.familiarity.adapter import MISTAKEN, LearnedFamiliarity
from hips.parts.familiarity.config import FamiliarityConfig
from hips.parts.familiarity.network import build
from hips.parts.familiarity.train import FamiliarityStage
from hips.parts.heuristic import targets
from hips.parts.heuristic.targets import find_targets
from hips.parts.heuristic.train import stages
from hips.seeding import stream
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Augmenter, Corpus
from tests.models.untrained import untrained, workshop
from tests.toys import LineWorld


class Table:
    """A runtime whose log-odds are the place of the player, the larger the more familiar."""

    def rowwise(self, graph: str, shapes: object, states: Grids) -> list[np.ndarray]:
        assert graph == "familiarity"
        return [states.reshape(len(states), -1).argmax(axis=1).astype(np.float32)]


def at(*places: int) -> Grids:
    return np.eye(8, dtype=np.uint8)[list(places)][:, None]


def test_unfamiliar_is_what_looks_stranger_than_nearly_all_demonstrated_states() -> None:
    runtime: Any = Table()
    familiarity = LearnedFamiliarity(runtime)
    known = at(*[5] * 499, 2)
    assert 1 / len(known) <= MISTAKEN
    found = familiarity.unfamiliar(at(1, 2, 3, 5, 7), known)
    assert found.tolist() == [True, True, True, False, False]
    assert not familiarity.unfamiliar(at(5, 6), at(5, 5)).any()


def test_a_stage_tells_places_where_no_demonstrator_was() -> None:
    domain = LineWorld()
    torch.manual_seed(0)
    network = build(domain.spec, FamiliarityConfig(), 4)
    shown, strays = at(4, 5, 6, 7), at(0, 1, 4, 5)
    stage = FamiliarityStage(
        FamiliarityConfig().training,
        network,
        Augmenter(domain, ()),
        (shown, strays),
        (shown, strays),
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    rng = stream(0, "batches")
    for _ in range(60):
        loss, _ = stage.objective(stage.batch(rng, 32))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    network.eval()
    with torch.no_grad():
        odds = network(torch.from_numpy(at(0, 1, 4, 5, 6, 7))).numpy()
        assert stage.validate()["accuracy"] >= stage.naive()["accuracy"]
    assert odds[:2].max() < -1 < odds[2:4].min()
    assert odds[4:].min() > 1


def test_unfamiliar_ends_of_walks_become_dead_ends(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path, monkeypatch: Any
) -> None:
    wanted = override(config, ["heuristic.strays=50", "heuristic.stitching_model=true"])
    domain = corpus.domain
    monkeypatch.setattr(
        targets.LearnedFamiliarity,
        "unfamiliar",
        lambda self, states, known: np.arange(len(states)) % 5 == 0,
    )
    work = workshop(domain, wanted, untrained(domain, wanted), tmp_path, corpus)
    monkeypatch.setattr(type(work), "runtime", lambda self, *names: None)
    labels = find_targets(work).labels
    assert labels is not None
    assert len(labels) == 10
    assert (labels.remaining == DEAD_END).all()
    assert domain.is_legal(labels.states, labels.states).all()
    (spec,) = stages(wanted)
    assert "familiarity.training" in spec.needs


def test_no_unfamiliar_end_is_no_label(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path, monkeypatch: Any
) -> None:
    wanted = override(config, ["heuristic.strays=50", "heuristic.stitching_model=true"])
    monkeypatch.setattr(
        targets.LearnedFamiliarity,
        "unfamiliar",
        lambda self, states, known: np.zeros(len(states), dtype=np.bool_),
    )
    work = workshop(corpus.domain, wanted, untrained(corpus.domain, wanted), tmp_path, corpus)
    monkeypatch.setattr(type(work), "runtime", lambda self, *names: None)
    assert find_targets(work).labels is None
