"""Attacks, in the slow tests: mutated inputs for every reader, and small worlds solved twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hips import data, domains
from hips.data import labels
from hips.domains.breadth_first import BreadthFirst
from hips.errors import HipsError
from hips.methods.planner import Choice, Planner
from hips.models.bundle import shipped_folder
from hips.models.card import read_card
from hips.planner.evaluations import EVALUATIONS, resolve
from hips.planner.outcomes import Outcome
from hips.planner.settings import Settings
from hips.seeding import stream

MUTANTS = 10_000
SECONDS = 5.0
TILES = domains.create("sliding_tiles", height=2, width=2)


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Flips, cuts, repeats, inserts."""
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(len(found) + 1))
        end = min(len(found), place + int(rng.integers(1, 40)))
        kind = rng.integers(4)
        if kind == 0 and place < len(found):
            found[place] = int(rng.integers(256))
        elif kind == 1:
            del found[place:end]
        elif kind == 2:
            found[place:place] = found[place:end] * int(rng.integers(1, 50))
        else:
            found[place:place] = bytes(rng.integers(32, 127, size=end - place, dtype=np.uint8))
    return bytes(found)


def attack(content: bytes, read: Callable[[bytes], object], name: str) -> int:
    """Reads mutants: each must be accepted or refused with a `HipsError`, in bounded time."""
    rng = stream(0, "attack", name)
    refused = 0
    for _ in range(MUTANTS):
        mutant = mutate(content, rng)
        began = time.process_time()
        try:
            read(mutant)
        except HipsError:
            refused += 1
        assert time.process_time() - began < SECONDS, mutant
    return refused


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sokoban", "tsp", "sliding_tiles", "box_world"])
@pytest.mark.parametrize("place", [0, 1])
def test_level_files(name: str, place: int) -> None:
    domain = domains.create(name)
    format = domain.formats[min(place, len(domain.formats) - 1)]
    text = domain.export(list(domain.sample(stream(0, "attack"), 2)), format)

    def read(mutant: bytes) -> None:
        for level in domain.parse_many(mutant.decode("utf-8", "replace")):
            assert not domain.for_grid(level).fault(level)

    assert attack(text.encode(), read, name) > MUTANTS // 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sokoban", "tsp", "sliding_tiles", "box_world"])
def test_pddl_plans(name: str) -> None:
    domain = domains.create(name)
    plan = b"(move-up c1-1 c0-1)\n0: (move-left c1-1 c1-0)\n; cost = 2\n"
    attack(plan, lambda m: domain.plan_from_pddl(m.decode("utf-8", "replace").split("\n")), name)


@pytest.mark.slow
def test_cards(tmp_path: Path) -> None:
    card = (shipped_folder() / "sokoban" / "card.json").read_bytes()

    def read(mutant: bytes) -> None:
        (tmp_path / "card.json").write_bytes(mutant)
        read_card(tmp_path).misfit(TILES)

    assert attack(card, read, "card") > MUTANTS // 20


@pytest.mark.slow
def test_labels(tmp_path: Path) -> None:
    found = labels.label_states(
        TILES, TILES.sample(stream(0, "attack"), 5), np.random.default_rng(0)
    )
    path = tmp_path / "labels.npz"
    labels.save(found, path)

    def read(mutant: bytes) -> None:
        path.write_bytes(mutant)
        labels.load(path, TILES)

    assert attack(path.read_bytes(), read, "labels") > MUTANTS // 20


@pytest.mark.slow
@pytest.mark.parametrize("file", ["manifest.json", "shard-00000.npz"])
def test_datasets(tmp_path: Path, file: str) -> None:
    data.collect(TILES, 5, 0, tmp_path / "d")
    path = tmp_path / "d" / file

    def read(mutant: bytes) -> None:
        path.write_bytes(mutant)
        data.load(tmp_path / "d")

    assert attack(path.read_bytes(), read, file) > MUTANTS // 20


@pytest.mark.slow
def test_every_two_by_three_puzzle_with_every_evaluation() -> None:
    """720 puzzles, half of them unsolvable, against an exhaustive search from the goal."""
    tiles = domains.create("sliding_tiles", height=2, width=3)
    goal = np.arange(6, dtype=np.uint8).reshape(2, 3)
    search = BreadthFirst(tiles, goal)
    solvable = {goal.tobytes()}
    while len(search.layer):
        search.advance()
        solvable |= {state.tobytes() for state in search.layer}
    rng = np.random.default_rng(0)
    puzzles = [rng.permutation(6).astype(np.uint8).reshape(2, 3) for _ in range(700)]
    for evaluation in (e for e in EVALUATIONS if not resolve(e).uses_heuristic):
        for close in (False, True):
            settings = Settings(evaluation=evaluation, close_on_generation=close)
            planner = Planner(tiles, Choice("low_level", settings))
            for puzzle, result in zip(puzzles, planner.solve_many(puzzles), strict=True):
                expected = Outcome.SOLVED if puzzle.tobytes() in solvable else Outcome.UNSOLVABLE
                assert result.outcome is expected, json.dumps(result.to_json())
