"""Random walks that leave demonstrations, and the ways back that they find."""

from __future__ import annotations

import numpy as np
import pytest

from hips import domains
from hips.seeding import stream
from hips.training.excursions import label_excursions, random_walks
from tests.toys import LineWorld

from .test_stitching import surveyor, true_distance, wandering


def test_walks_do_not_turn_back() -> None:
    domain = LineWorld()
    starts = np.repeat(domain.sample(stream(1, "start"), 1), 200, axis=0)
    found = random_walks(surveyor(domain), starts, stream(0, "walk"), 3)
    places = found.reshape(3, 200, -1).argmax(axis=2)
    first = starts.reshape(200, -1).argmax(axis=1)
    assert (np.abs(places[0] - first) == 1).all()
    assert len(np.unique(places[0])) == 2
    # Having left, a walk on a line goes on in the same direction, up to a wall or the goal.
    assert ((places[1] - places[0]) * (places[0] - first) >= 0).all()


@pytest.mark.parametrize("name", ["sliding_tiles", "sokoban"])
def test_labels_are_ways_that_exist(name: str) -> None:
    small = (
        {"height": 2, "width": 3}
        if name == "sliding_tiles"
        else {"height": 7, "width": 7, "boxes": 1}
    )
    domain = domains.create(name, **small)
    data = wandering(domain, 4, 3)
    labels = label_excursions(data, surveyor(domain), stream(0, "walks"), 4, 8)
    shown = {state.tobytes() for state in data.states}
    assert len(labels) > 10
    assert not any(state.tobytes() in shown for state in labels.states)
    exact = 0
    for state, remaining in zip(labels.states[:60], labels.remaining[:60], strict=True):
        best = true_distance(domain, state)
        assert best is not None
        assert best <= remaining
        exact += best == remaining
    assert exact > 5
