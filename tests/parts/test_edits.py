"""Subgoals by single-cell edits: targets, decoding, and learning."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hips.arrays import Floats, Grids
from hips.errors import ConfigError, ModelError
from hips.parts.blocks.decoding import EditDecoder
from hips.parts.blocks.edits import edit_targets

SYMBOLS = 3
CELLS = 4


def grids(values: list[list[int]]) -> Grids:
    return np.array(values, dtype=np.uint8).reshape(-1, 2, 2)


pair = st.lists(
    st.lists(st.integers(0, SYMBOLS - 1), min_size=CELLS, max_size=CELLS), min_size=2, max_size=2
)


@given(pair)
def test_edits_reconstruct_any_target_and_stop_ends(values: list[list[int]]) -> None:
    state, target = grids(values[:1]), grids(values[1:])
    current, stop = state, CELLS * SYMBOLS
    for done in itertools.count():
        partial, edit = edit_targets(state, target, SYMBOLS, np.array([done]))
        np.testing.assert_array_equal(partial, current)
        if edit[0] == stop:
            break
        cell, symbol = divmod(int(edit[0]), SYMBOLS)
        assert current.reshape(-1)[cell] != symbol
        current = current.copy()
        current.reshape(-1)[cell] = symbol
    assert done == (state != target).sum()
    np.testing.assert_array_equal(current, target)


class TableEdits:
    """A random but fixed distribution over edits for every partial subgoal."""

    def __init__(self, seed: int, sharp: float) -> None:
        self.seed, self.sharp = seed, sharp

    def __call__(self, states: Grids, partials: Grids) -> Floats:
        return np.stack([self.row(one) for one in partials])

    def row(self, partial: np.ndarray) -> np.ndarray:
        key = int(partial.reshape(-1) @ SYMBOLS ** np.arange(CELLS))
        logits = np.random.default_rng([self.seed, key]).normal(size=CELLS * SYMBOLS + 1)
        logits[-1] += 1.0
        logits *= self.sharp
        logits[np.arange(CELLS) * SYMBOLS + partial.reshape(-1)] = -30.0
        return logits - np.log(np.exp(logits).sum())


def everything(edits: TableEdits, state: Grids, max_edits: int) -> Mapping[bytes, float]:
    """All subgoals with their probabilities, by enumeration."""
    chances: dict[bytes, float] = {}
    level = {state.tobytes(): 1.0}
    for _ in range(max_edits):
        following: dict[bytes, float] = {}
        for raw, chance in level.items():
            partial = np.frombuffer(raw, dtype=np.uint8).reshape(2, 2)
            row = np.exp(edits.row(partial))
            for edit in range(CELLS * SYMBOLS):
                changed = partial.copy()
                changed.reshape(-1)[edit // SYMBOLS] = edit % SYMBOLS
                key = changed.tobytes()
                following[key] = following.get(key, 0.0) + chance * row[edit]
        level = following
        for raw, chance in level.items():
            row = np.exp(edits.row(np.frombuffer(raw, dtype=np.uint8).reshape(2, 2)))
            chances[raw] = chances.get(raw, 0.0) + chance * row[-1]
    return chances


@pytest.mark.parametrize("seed", range(6))
def test_full_coverage_finds_every_subgoal_with_its_probability(seed: int) -> None:
    edits = TableEdits(seed, 1.0)
    state = grids([[0, 1, 2, 0]])
    expected = everything(edits, state, 2)
    found = EditDecoder(edits, SYMBOLS, 1000, 1.0, 1000, 2).propose(state)
    assert found.targets is not None
    chances = {t.tobytes(): p for t, p in zip(found.targets, found.log_probabilities, strict=True)}
    assert set(chances) == set(expected)
    for key, chance in chances.items():
        assert np.exp(chance) == pytest.approx(expected[key], rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_candidates_are_the_likeliest_in_order_and_coverage_saves_rows(seed: int) -> None:
    edits = TableEdits(seed, 3.0)
    states = grids([[0, 1, 2, 0], [2, 2, 2, 2]])
    all_of_them = EditDecoder(edits, SYMBOLS, 1000, 1.0, 1000, 3).propose(states)
    few = EditDecoder(edits, SYMBOLS, 2, 0.6, 1000, 3).propose(states)
    assert np.bincount(few.parents).max() <= 2
    for owner in range(2):
        chances = few.log_probabilities[few.parents == owner]
        assert (np.diff(chances) <= 1e-12).all()
        assert few.codes[few.parents == owner].tolist() == list(range(len(chances)))
    assert (np.asarray(few.calls) <= np.asarray(all_of_them.calls)).all()
    # A state alone is decoded as it is beside others.
    alone = EditDecoder(edits, SYMBOLS, 2, 0.6, 1000, 3).propose(states[1:])
    np.testing.assert_array_equal(alone.targets, few.targets[few.parents == 1])


def test_nan_and_impossible_settings_are_refused() -> None:
    def broken(states: Grids, partials: Grids) -> Floats:
        return np.full((len(states), CELLS * SYMBOLS + 1), np.nan)

    with pytest.raises(ModelError, match="NaN"):
        EditDecoder(broken, SYMBOLS).propose(grids([[0, 1, 2, 0]]))
    with pytest.raises(ConfigError, match="at least 1"):
        EditDecoder(broken, SYMBOLS, candidates=0)


def test_an_edit_network_never_sets_a_cell_to_what_it_is() -> None:
    from hips import domains, parts

    tiles = domains.create("sliding_tiles", height=3, width=3)
    part = parts.get("ksubs")
    network = part.build(tiles.spec, part.configure(tiles, "smoke"), 5).eval()
    states = torch.from_numpy(tiles.sample(np.random.default_rng(0), 4))
    with torch.no_grad():
        found = network(states, states).exp()
    torch.testing.assert_close(found.sum(dim=1), torch.ones(4))
    cells = found[:, :-1].reshape(4, 9, 9)
    same = cells.gather(2, states.long().flatten(1).unsqueeze(2))
    assert float(same.max()) < 1e-6
