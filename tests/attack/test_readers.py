"""Mutated inputs for every reader, each within limits of time and memory."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from hips import data, domains
from hips.benchmark import experiments, lines
from hips.cli.records import Earlier, Numbered, make_record
from hips.cli.summary import Summary
from hips.data import labels
from hips.errors import HipsError
from hips.methods.planner import Planner
from hips.models.bundle import shipped_folder
from hips.models.card import read_card
from hips.seeding import stream
from hips.training.recipes import read_recipe

from .verbs import write_catalogue

MUTANTS = 10_000
SECONDS = 5.0
"""Processor time of one mutant."""
MORE_BYTES = 512 << 20
"""Memory that the readers may take beyond what the process has before."""
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


class TooSlow(BaseException):
    """A reader took too long; no reader catches it."""


def give_up(number: int, frame: FrameType | None) -> None:
    raise TooSlow


@contextmanager
def limited() -> Iterator[None]:
    """Limits the address space to a little more than this process has now."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGVTALRM, give_up)
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_BYTES, before[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def attack(content: bytes, read: Callable[[bytes], object], name: str) -> int:
    """Reads mutants; each must be accepted or refused with a `HipsError`, within the limits."""
    rng = stream(0, "attack", name)
    refused = 0
    with limited():
        for _ in range(MUTANTS):
            mutant = mutate(content, rng)
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                read(mutant)
            except HipsError:
                refused += 1
            except (TooSlow, MemoryError) as error:
                pytest.fail(f"{type(error).__name__}: {mutant!r}")
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
    remaining = np.array([labels.DEAD_END, 0, 3, 5, 40], dtype=np.int32)
    found = labels.StateLabels(
        TILES.sample(stream(0, "attack"), 5), remaining, {"domain": TILES.name}
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
def test_results_of_solve(tmp_path: Path) -> None:
    level = TILES.sample(stream(0, "attack"), 1)[0]
    record = make_record(TILES, Numbered(0), Planner(TILES).solve(level), "run")
    path = tmp_path / "results.jsonl"

    def read(mutant: bytes) -> None:
        path.write_bytes(mutant)
        Earlier().load(path, "run", Summary())

    text = (json.dumps(record) + "\n") * 2
    assert attack(text.encode(), read, "results") > MUTANTS // 20


@pytest.mark.slow
def test_results_of_bench(tmp_path: Path) -> None:
    line = {"format": lines.FORMAT, "type": "run", "version": "0", "plan": ["up"], "seconds": 0.5}
    path = tmp_path / lines.FILE

    def read(mutant: bytes) -> None:
        path.write_bytes(mutant)
        list(lines.read(path))

    text = (json.dumps(line) + "\n") * 3
    assert attack(text.encode(), read, "lines") > MUTANTS // 20


@pytest.mark.slow
def test_catalogues(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.json"
    write_catalogue(tmp_path)

    def read(mutant: bytes) -> None:
        path.write_bytes(mutant)
        experiments.load.__wrapped__(path)  # not the cached one

    assert attack(path.read_bytes(), read, "catalogue") > MUTANTS // 20


@pytest.mark.slow
def test_recipes(tmp_path: Path) -> None:
    recipe = Path(__file__).parents[2] / "reproductions" / "sliding_tiles.json"
    path = tmp_path / "recipe.json"

    def read(mutant: bytes) -> None:
        path.write_bytes(mutant)
        read_recipe(path)

    assert attack(recipe.read_bytes(), read, "recipe") > MUTANTS // 20
